"""In-place writes made to build new tensors, by text."""

from __future__ import annotations

import pytest
from marked import Marked, on_expressions, on_statements

from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.out_of_place import out_of_place

IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom torch.nn.functional import relu_\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«x += r»  # residual\n", "x = x + r  # residual\n"),
        ("«x+=r»\n", "x=x+r\n"),
        ("«x -= a - b»\n", "x = x - (a - b)\n"),
        ("«x -= a * b»\n", "x = x - a * b\n"),
        ("«x *= a + b»\n", "x = x * (a + b)\n"),
        ("«x *= (a + b)»\n", "x = x * (a + b)\n"),
        ("«x *= a * b»\n", "x = x * (a * b)\n"),
        ("«x *= -a»\n", "x = x * -a\n"),
        ("«x /= h.sum() + 1e-8»\n", "x = x / (h.sum() + 1e-8)\n"),
        ("«x //= a»\n", "x = x // a\n"),
        ("«x %= a»\n", "x = x % a\n"),
        ("«x **= 2»\n", "x = x ** 2\n"),
        ("«x **= -y»\n", "x = x ** -y\n"),
        ("«x **= a * b»\n", "x = x ** (a * b)\n"),
        ("«x @= w»\n", "x = x @ w\n"),
        ("«x &= m | n»\n", "x = x & (m | n)\n"),
        ("«x |= m & n»\n", "x = x | m & n\n"),
        ("«x ^= m»\n", "x = x ^ m\n"),
        ("«x <<= 1»\n", "x = x << 1\n"),
        ("«x >>= 1»\n", "x = x >> 1\n"),
        ("«x += a if c else b»\n", "x = x + (a if c else b)\n"),
        ("«x += a or b»\n", "x = x + (a or b)\n"),
        ("«x += a > b»\n", "x = x + (a > b)\n"),
        ("«x += not a»\n", "x = x + (not a)\n"),
        ("«x += lambda: 1»\n", "x = x + (lambda: 1)\n"),
        ("async def f(x):\n    «x += await g()»\n", "async def f(x):\n    x = x + await g()\n"),
        ("def f(x):\n    «x += yield»\n", "def f(x):\n    x = x + (yield)\n"),
        ("«self.h *= f(a) + b»\n", "self.h = self.h * (f(a) + b)\n"),
        ("«x += \\\n    r»\n", "x = x + \\\n    r\n"),
        ("«x *= (\n    a  # left\n    + b\n)»\n", "x = x * (\n    a  # left\n    + b\n)\n"),
        ("«x *= f(\n    a,  # first\n) + b»\n", "x = x * (f(\n    a,  # first\n) + b)\n"),
        ("if c: «x += r»\n", "if c: x = x + r\n"),
        ("a = 1; «x += r»; b = 2\n", "a = 1; x = x + r; b = 2\n"),
        ("if c:\r\n\t«x += r»\r\n", "if c:\r\n\tx = x + r\r\n"),
        ("é = '🔥'; «x += r»\n", "é = '🔥'; x = x + r\n"),
        ("«x[i] += r»\n", None),
        ("«self.h[0] -= r»\n", None),
        ("«f().x += r»\n", None),
        ("«x += 1, 2»\n", None),
    ],
)
def test_augmented_assignments(before: str, after: str | None) -> None:
    assert on_statements(before, out_of_place) == after


def test_items_of_a_container_may_be_assigned_to() -> None:
    assert on_statements("«outs[i] += r»\n", out_of_place, items=True) == "outs[i] = outs[i] + r\n"
    assert on_statements("«outs[next(i)] += r»\n", out_of_place, items=True) is None
    assert on_statements("«outs[i].add_(r)»\n", out_of_place, items=True) == "outs[i] = outs[i].add(r)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«x.add_(r)»  # residual\n", "x = x.add(r)  # residual\n"),
        ("«self.h.mul_(2).add_(r, alpha=-1)»\n", "self.h = self.h.mul(2).add(r, alpha=-1)\n"),
        ("«std.clamp_(max=5.0)»\n", "std = std.clamp(max=5.0)\n"),
        ("«evals.clamp_min_(1e-6)»\n", "evals = evals.clamp_min(1e-6)\n"),
        ("«s.masked_fill_(mask, -1e9)»\n", "s = s.masked_fill(mask, -1e9)\n"),
        ("«x.index_put_((i,), v)»\n", "x = x.index_put((i,), v)\n"),
        ("«x.scatter_add_(0, i, v)»\n", "x = x.scatter_add(0, i, v)\n"),
        ("«x.squeeze_(0)»\n", "x = x.squeeze(0)\n"),
        ("«x.detach_()»\n", "x = x.detach()\n"),
        ("«x.zero_()»\n", "x = torch.zeros_like(x)\n"),
        ("«x.fill_(1.0)»\n", "x = torch.full_like(x, 1.0)\n"),
        ("«x.fill_(v)»\n", "x = torch.empty_like(x).fill_(v)\n"),
        ("«x.copy_(src)»\n", "x = torch.empty_like(x).copy_(src)\n"),
        ("«x.normal_(0, 1)»\n", "x = torch.empty_like(x).normal_(0, 1)\n"),
        ("«x.mul_(2).zero_()»\n", "x = x.mul(2).clone().zero_()\n"),
        ("«x.eq_(y)»\n", "x = x.clone().eq_(y)\n"),
        ("«x.fill_diagonal_(0)»\n", "x = x.clone().fill_diagonal_(0)\n"),
        ("«(x).relu_()»\n", "x = (x).relu()\n"),
        ("«x.add_(\n    r,  # residual\n)»\n", "x = x.add(\n    r,  # residual\n)\n"),
        ("«F.relu_(x)»\n", "x = F.relu(x)\n"),
        ("«torch.clamp_(self.x, min=0)»\n", "self.x = torch.clamp(self.x, min=0)\n"),
        ("«torch.sigmoid_(x)»\n", "x = torch.sigmoid(x)\n"),
        ("«relu_(x)»\n", "x = relu_(x.clone())\n"),
        ("«F.relu(x, inplace=True)»\n", "x = F.relu(x)\n"),
        ("«F.relu(x, True)»\n", "x = F.relu(x)\n"),
        ("«F.dropout(x, 0.1, self.training, inplace=True)»\n", "x = F.dropout(x, 0.1, self.training)\n"),
        ("«torch.mul(v, g, out=v)»\n", "v = torch.mul(v, g)\n"),
        ("«torch.max(x, 1, out=(v, i))»\n", "(v, i) = torch.max(x, 1)\n"),
        ("if c: «x.relu_()»\n", "if c: x = x.relu()\n"),
        ("«x[0].add_(r)»\n", None),
        ("«x.view(-1).add_(r)»\n", None),
        ("«f(x).add_(r)»\n", None),
        ("«x.requires_grad_()»\n", None),
        ("«x.resize_(3)»\n", None),
        ("«model.update_()»\n", None),
        ("«nn.init.zeros_(w)»\n", None),
        ("«x.add(r)»\n", None),
    ],
)
def test_calls_as_statements(before: str, after: str | None) -> None:
    assert on_statements(IMPORTS + before, out_of_place) == (after and IMPORTS + after)


def test_without_a_name_for_torch_the_write_goes_to_a_copy() -> None:
    assert on_statements("«x.zero_()»\n", out_of_place) == "x = x.clone().zero_()\n"
    assert (
        on_statements("import torch as th\n«x.zero_()»\n", out_of_place) == "import torch as th\nx = th.zeros_like(x)\n"
    )
    assert on_statements("from torch import zeros_like\n«x.zero_()»\n", out_of_place) == (
        "from torch import zeros_like\nx = zeros_like(x)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = f(«x.relu_()»)\n", "y = f(x.relu())\n"),
        ("y = «x.relu_()»\nz = x\n", "y = x = x.relu()\nz = x\n"),
        ("y = «F.relu(x, inplace=True)»\nz = x\n", "y = x = F.relu(x)\nz = x\n"),
        ("x = «F.relu(x, inplace=True)»\nz = x\n", "x = F.relu(x)\nz = x\n"),
        ("x = f(«x.relu_()»)\nz = x\n", "x = f(x.relu())\nz = x\n"),
        ("y = f(«x.relu_()», 1)  # c\nz = x\n", "x = x.relu()\ny = f(x, 1)  # c\nz = x\n"),
        ("y = f(«x.relu_()», x)\n", None),
        ("y = [f(«x.relu_()») for a in b]\nz = x\n", None),
        ("y = a and «x.relu_()»\nz = x\n", None),
        ("y = f(«self.h.relu_()»)\n", "self.h = self.h.relu()\ny = f(self.h)\n"),
        ("y = «self.h.relu_()»\n", "y = self.h = self.h.relu()\n"),
        ("y = f(self.h, «self.h.relu_()»)\n", None),
        ("y = «self.conv(x).relu_()»\nz = x\n", "y = self.conv(x).relu()\nz = x\n"),
        ("y = «x.view(-1).relu_()»\nz = x\n", None),
        ("y = «x.view(-1).relu_()»\n", "y = x.view(-1).relu()\n"),
        ("y = «x[0].relu_()»\nz = x\n", None),
        ("s = [«s.squeeze_(0)» for s in hx.split(1)]\n", "s = [s.squeeze(0) for s in hx.split(1)]\n"),
        ("if f(«x.relu_()»):\n    z = x\n", "x = x.relu()\nif f(x):\n    z = x\n"),
        ("while f(«x.relu_()»):\n    z = x\n", None),
        ("if a:\n    pass\nelif f(«x.relu_()»):\n    z = x\n", None),
        ("for a in f(«x.relu_()»):\n    z = x\n", "x = x.relu()\nfor a in f(x):\n    z = x\n"),
        ("y = «x.add_(1)».relu_()\n", "y = x.add(1).relu()\n"),
        ("y = «x.add_(1)».sum()\nz = x\n", "x = x.add(1)\ny = x.sum()\nz = x\n"),
        ("def f(x):\n    return «x.mul_(x.sigmoid())»\n", "def f(x):\n    return x.mul(x.sigmoid())\n"),
        ("y = «torch.mul(a, b, out=buf)»\nz = buf\n", "y = buf = torch.mul(a, b)\nz = buf\n"),
        ("y = «torch.mul(a, b, out=buf)»\n", "y = torch.mul(a, b)\n"),
        ("net = nn.Sequential(«nn.ReLU(inplace=True)»)\n", "net = nn.Sequential(nn.ReLU())\n"),
    ],
)
def test_calls_within_expressions(before: str, after: str | None) -> None:
    assert on_expressions(IMPORTS + before, out_of_place) == (after and IMPORTS + after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«x[x < 0] = 0.0»  # relu\n", "x = x.masked_fill(x < 0, 0.0)  # relu\n"),
        ("«x[torch.isnan(x)] = -1»\n", "x = x.masked_fill(torch.isnan(x), -1)\n"),
        ("«x[~x.isfinite()] = 0»\n", "x = x.masked_fill(~x.isfinite(), 0)\n"),
        (
            "«self.h[(self.h > 1) | (self.h < 0)] = 0»\n",
            "self.h = self.h.masked_fill((self.h > 1) | (self.h < 0), 0)\n",
        ),
        ("«x[mask] = 0»\n", None),
        ("«x[y < 0] = 0»\n", None),
        ("«x[x < 0] = y»\n", None),
        ("«x[0] = 0»\n", None),
        ("«x[:, 1:] = p»\n", None),
        ("«x = y»\n", None),
    ],
)
def test_masks_made_from_the_tensor_itself(before: str, after: str | None) -> None:
    assert on_statements(before, out_of_place) == after


def test_the_statement_around_a_call_may_be_given_instead_of_the_call() -> None:
    assert on_statements("«y = x.relu_()»\nz = x\n", out_of_place) == "y = x = x.relu()\nz = x\n"
    assert on_statements("def f(x):\n    «return x.relu_()»\n", out_of_place) == "def f(x):\n    return x.relu()\n"


@pytest.mark.parametrize(
    ("statement", "tensor"),
    [
        ("x += r", "x"),
        ("x[i][j] += r", "x"),
        ("self.h[:, :2] = r", "self.h"),
        ("x[0].view(-1).add_(r)", "x"),
        ("x.add_(a).mul_(b)", "x"),
        ("x.T.zero_()", "x"),
        ("F.relu_(x)", "x"),
        ("F.relu(x, inplace=True)", "x"),
        ("F.relu(x, True)", "x"),
        ("torch.mul(a, b, out=buf)", "buf"),
        ("f(x).add_(r)", None),
        ("f(x)", None),
        ("x.add(r)", None),
        ("return x", None),
        ("a = b = c", None),
    ],
)
def test_written_tensor(statement: str, tensor: str | None) -> None:
    program = Marked(f"{IMPORTS}def f():\n    «{statement}»\n")
    found = written_tensor(program.tree, program.statements()[0])
    assert (found and program.source.slice(program.source.span_of(found))) == tensor
