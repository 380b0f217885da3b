"""Edits whose meaning depends on torch: the program before and after, both run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest
from marked import Marked

from gradsense.fixes.detach import clone_value, detach, detach_clone, detach_structure, undetach
from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.inplace_names import DROP_UNDERSCORE, FUNCTIONS, ON_A_COPY, OVERWRITING, stem
from gradsense.fixes.insert import clone_before, detach_after
from gradsense.fixes.keywords import drop_keyword, set_keyword
from gradsense.fixes.methods import call_instead, call_method, drop_last, require_grad_last
from gradsense.fixes.move import move_after, move_into_loop
from gradsense.fixes.out_of_place import out_of_place
from gradsense.fixes.remove import assign_result
from gradsense.fixes.scalarise import scalarise
from gradsense.fixes.sum_losses import sum_losses
from gradsense.fixes.wrap import decorate, wrap_in

torch = pytest.importorskip("torch")
# Some of the programs do just what torch warns of.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

START = """import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
net = nn.Linear(3, 3)
x = torch.randn(2, 3)
"""


def _run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), names)
    return names


def _raises(text: str) -> bool:
    try:
        _run(text)
    except (RuntimeError, TypeError, AttributeError):
        return True
    return False


def _mended(program: str, fix: Callable[[Marked], Edits | None]) -> dict[str, Any]:
    """Runs the program, which must raise, and then the mended one; gives the names of the latter."""
    marked = Marked(START + program)
    assert _raises(marked.text)
    after = marked.after(fix(marked))
    assert after is not None
    return _run(after)


@pytest.mark.parametrize(
    "program",
    [
        "y = w.exp()\n«y += 1»\nloss = y.sum()\nloss.backward()\n",
        "y = w.sigmoid()\n«y *= w + 2»\nloss = y.sum()\nloss.backward()\n",
        "y = w.tanh()\n«y -= w - 1»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y /= w.abs() + 1»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y **= 2»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.add_(1).mul_(3)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.clamp_(max=1.0)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.masked_fill_(w > 0, 0.0)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.index_put_((torch.tensor([0]),), torch.tensor([2.0]))»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.index_fill_(0, torch.tensor([0]), 2.0)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\nz = y * 2\n«y.zero_()»\nloss = z.sum() + y.sum()\nloss.backward()\n",
        "y = w.exp()\nz = y * 2\n«y.fill_(3)»\nloss = z.sum() + y.sum()\nloss.backward()\n",
        "y = w.exp()\nz = y * 2\n«y.copy_(w)»\nloss = z.sum() + y.sum()\nloss.backward()\n",
        "y = w.exp()\nz = y * 2\n«y.normal_()»\nloss = z.sum()\nloss.backward()\n",
        "y = w.exp()\n«F.relu_(y)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«torch.sigmoid_(y)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«F.relu(y, inplace=True)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«F.leaky_relu(y, 0.1, True)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y[y > 1] = 0.0»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\nz = «y.add_(1)»\nloss = (y + z).sum()\nloss.backward()\n",
        "y = w.exp()\nz = net(«y.add_(1)»)\nloss = (y + z).sum()\nloss.backward()\n",
        "y = w.exp()\nloss = torch.sum(«F.relu_(y)»)\nloss.backward()\n",
        "y = torch.zeros(3)\na = w * 2\n«torch.mul(a, a, out=a)»\nloss = a.sum()\nloss.backward()\n",
        "gamma, beta = net(x).chunk(2)\n«gamma += 1.0»\nloss = (gamma * beta).sum()\nloss.backward()\n",
    ],
)
def test_out_of_place_computes_what_the_write_computed(program: str) -> None:
    names = _mended(program, lambda marked: out_of_place(marked.source, marked.tree, marked.nodes(ast.AST)[0]))
    assert names["w"].grad is not None or names["net"].weight.grad is not None
    # The values are those that the in-place program would have had without its backward.
    without = _value(START + program)
    if without is not None and "normal_" not in program:
        torch.testing.assert_close(names["loss"], without)


def _value(text: str) -> Any:
    """The loss of the program as it stands, run without gradients, where torch allows every write."""
    plain = text.replace("«", "").replace("»", "").replace("loss.backward()\n", "")
    lines = ["    " + line for line in plain.split("\n")]
    return _run("import torch\nwith torch.no_grad():\n" + "\n".join(lines))["loss"]


@pytest.mark.parametrize(
    "program",
    [
        "y = w.exp()\n«y[0] += 1»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y[1:] = 0»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y[0].mul_(2)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\n«y.view(3, 1).add_(1)»\nloss = y.sum()\nloss.backward()\n",
        "y = w.exp()\nfor i in range(3):\n    «y[i] *= 2»\nloss = y.sum()\nloss.backward()\n",
        "a, y = net(x).chunk(2)\n«y[0] += 1»\nloss = y.sum()\nloss.backward()\n",
    ],
)
def test_a_copy_may_be_written_in_part(program: str) -> None:
    def fix(marked: Marked) -> Edits | None:
        statement = marked.statements()[0]
        tensor = written_tensor(marked.tree, statement)
        return None if tensor is None else clone_before(marked.source, marked.tree, statement, tensor)

    names = _mended(program, fix)
    torch.testing.assert_close(names["loss"], _value(START + program))


def _on_expressions(fix: Callable[..., Edits | None], *arguments: object) -> Callable[[Marked], Edits | None]:
    return lambda marked: fix(marked.source, marked.tree, *marked.expressions(), *arguments)


def _on_statements(fix: Callable[..., Edits | None], *arguments: object) -> Callable[[Marked], Edits | None]:
    return lambda marked: fix(marked.source, marked.tree, *marked.statements(), *arguments)


def _on_list(fix: Callable[..., Edits | None]) -> Callable[[Marked], Edits | None]:
    return lambda marked: fix(marked.source, marked.tree, marked.statements())


def _hoisted(marked: Marked) -> Edits | None:
    loop = next(node for node in ast.walk(marked.tree) if isinstance(node, ast.For))
    return move_into_loop(marked.source, marked.tree, marked.statements(), loop)


def _decorated(marked: Marked) -> Edits | None:
    function = next(node for node in ast.walk(marked.tree) if isinstance(node, ast.FunctionDef))
    return decorate(marked.source, marked.tree, function)


def _hidden_detached(marked: Marked) -> Edits | None:
    hidden = next(node for node in ast.walk(marked.tree) if isinstance(node, ast.Name) and node.id == "h")
    return detach_after(marked.source, marked.tree, marked.statements()[0], hidden)


def _first_call_of(marked: Marked) -> Edits | None:
    whole = marked.expressions()[0]
    call = next(node for node in ast.walk(whole) if isinstance(node, ast.Call))
    return require_grad_last(marked.source, marked.tree, whole, call)


LSTM = "rnn = nn.LSTM(3, 3)\nh = None\n"


@pytest.mark.parametrize(
    ("program", "fix"),
    [
        ("h = torch.zeros(3)\nfor i in range(3):\n    h = net(«h»).tanh()\n    h.sum().backward()\n",
         _on_expressions(detach)),
        ("h = torch.zeros(3)\nfor i in range(3):\n    h = net(h).tanh()\n    «h.sum().backward()»\n",
         _hidden_detached),
        (LSTM + "for i in range(3):\n    out, s = rnn(x, h)\n    out.sum().backward()\n    h = «s»\n",
         _on_expressions(detach_structure, ("tuple",))),
        ("y = w.tanh() * 2\nloss = (y * y).sum()\n«loss.backward()»\nother = y.exp().sum()\n«other.backward()»\n",
         _on_list(sum_losses)),
        ("y = w.sigmoid()\na = (y * y).sum()\nb = y.exp().sum()\n«a.backward()»\n«(0.5 * b).backward()»\n",
         _on_list(sum_losses)),
        ("«gate = torch.sigmoid(w)»\nfor i in range(2):\n    (gate * x).pow(2).sum().backward()\n", _hoisted),
        ("y = w.tanh()\ng = «torch.autograd.grad(y.sum(), w)»\ny.sum().backward()\n",
         _on_expressions(set_keyword, "retain_graph", "True")),
        ("g = «torch.autograd.grad((w ** 3).sum(), w)»[0]\n(g ** 2).sum().backward()\n",
         _on_expressions(set_keyword, "create_graph", "True")),
        ("y = w * 2\n«y».backward()\n", _on_expressions(call_method, "sum")),
        ("loss = (w * 2).sum()\n«loss.item()».backward()\n", _on_expressions(drop_last)),
        ("logits = «net(x).data»\nF.cross_entropy(logits, torch.tensor([0, 1])).backward()\n",
         _on_expressions(undetach)),
        ("w.sum().backward()\n«w -= 0.1 * w.grad»\n", _on_list(wrap_in)),
        ("w.sum().backward()\n«for p in [w]:\n    p.add_(p.grad, alpha=-0.1)»\n", _on_list(wrap_in)),
        ("def init(p):\n    p[0] = 1.0\ninit(w)\n", _decorated),
        ("y = w.exp()\nz = «y.detach()»\nz[0] = 5\n(y * y).sum().backward()\n", _on_expressions(detach_clone)),
        ("z = torch.ones(2, 3, requires_grad=True)\nq = z * «w»\nopt = torch.optim.SGD([w], 0.1)\n"
         "w.grad = torch.ones(3)\nopt.step()\nq.sum().backward()\n",
         _on_expressions(clone_value)),
        ("opt = torch.optim.SGD(net.parameters(), 0.1)\ninner = nn.Linear(3, 3)\nout = net(inner(x)).sum()\n"
         "for p in net.parameters(): p.grad = torch.ones_like(p)\n«opt.step()»\n«out.backward()»\n",
         _on_statements(move_after)),
        ("h = torch.zeros(3)\nfor i in range(2):\n    h = net(h).tanh()\n    h.sum().backward()\n    «h.detach()»\n",
         _on_statements(assign_result)),
        ("b = «torch.randn(3, requires_grad=True) * 0.1»\n(b * x).sum().backward()\nc = 2 * b.grad\n", _first_call_of),
    ],
)  # fmt: skip
def test_the_mended_program_runs(program: str, fix: Callable[[Marked], Edits | None]) -> None:
    _mended(program, fix)


def test_a_sum_of_losses_has_the_gradient_of_both_walks() -> None:
    program = (
        "y = w.sigmoid()\na = (y * y).sum()\nb = y.exp().sum()\n"
        "«a.backward(retain_graph=True)»\n«(0.5 * b).backward()»\n"
    )
    marked = Marked(START + program)
    after = marked.after(sum_losses(marked.source, marked.tree, marked.statements()))
    assert after is not None and "(a + 0.5 * b).backward()" in after
    torch.testing.assert_close(_run(after)["w"].grad, _run(marked.text)["w"].grad)


def test_a_stacked_list_of_losses_keeps_its_gradients() -> None:
    program = "loss = «torch.tensor([(w * 2).sum(), w.exp().sum()], requires_grad=True)».sum()\nloss.backward()\n"
    marked = Marked(START + program)
    assert _run(marked.text)["w"].grad is None
    edits = call_instead(marked.source, marked.tree, marked.expressions()[0], "torch.stack", ("requires_grad",))
    assert _run(str(marked.after(edits)))["w"].grad is not None


def test_a_needless_retain_graph_may_go() -> None:
    program = "loss = w.exp().sum()\n«loss.backward(retain_graph=True)»\n"
    marked = Marked(START + program)
    after = marked.after(drop_keyword(marked.source, marked.tree, marked.expressions()[0], "retain_graph"))
    torch.testing.assert_close(_run(str(after))["w"].grad, _run(marked.text)["w"].grad)


@pytest.mark.parametrize(
    "added", ["loss", "loss.detach()", "2 * loss", "loss * x.size(0)", "loss / 2", "loss * w.mean()"]
)
def test_a_total_of_numbers_equals_the_total_of_tensors(added: str) -> None:
    program = f"total = 0.0\nfor i in range(3):\n    loss = net(x).pow(2).mean()\n    total += «{added}»\n"
    marked = Marked(START + program)
    after = _run(str(marked.after(scalarise(marked.source, marked.tree, *marked.expressions()))))
    assert isinstance(after["total"], float)
    assert after["total"] == pytest.approx(float(_run(marked.text)["total"]), rel=1e-5)


def test_every_in_place_method_of_torch_is_known() -> None:
    methods = {name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")}
    # These change what a tensor is, not what it holds, or call Python on each element.
    others = {
        "apply_",
        "map_",
        "map2_",
        "as_strided_",
        "requires_grad_",
        "resize_",
        "resize_as_",
        "set_",
        "share_memory_",
    }
    sparse = {name for name in methods if "sparse" in name}
    assert {name for name in methods if stem(name) is None} <= others | sparse
    for name in DROP_UNDERSCORE:
        assert hasattr(torch.Tensor, name) and hasattr(torch.Tensor, f"{name}_"), name
    for name in OVERWRITING | ON_A_COPY:
        assert hasattr(torch.Tensor, f"{name}_"), name
    for name in FUNCTIONS:
        owners = (torch, torch.nn.functional)
        assert any(hasattr(owner, f"{name}_") for owner in owners), name
        assert any(hasattr(owner, name) for owner in owners), name


@pytest.mark.parametrize(
    "name", sorted(DROP_UNDERSCORE & {"abs", "ceil", "exp", "floor", "neg", "relu", "tanh", "trunc"})
)
def test_the_form_without_underscore_computes_the_same(name: str) -> None:
    value = torch.tensor([-1.5, 0.5, 2.0])
    expected = getattr(value.clone(), f"{name}_")()
    torch.testing.assert_close(getattr(value, name)(), expected)


def test_edits_of_two_kinds_can_be_one_fix() -> None:
    program = (
        "h = torch.zeros(3)\nfor i in range(3):\n    h = net(«h»).tanh()\n    «h.sum().backward(retain_graph=True)»\n"
    )

    def fix(marked: Marked) -> Edits | None:
        hidden, backward = marked.expressions()
        assert isinstance(backward, ast.Call)
        return combine(
            detach(marked.source, marked.tree, hidden),
            drop_keyword(marked.source, marked.tree, backward, "retain_graph"),
        )

    marked = Marked(START + program)
    after = marked.after(fix(marked))
    assert after is not None and after.endswith("    h = net(h.detach()).tanh()\n    h.sum().backward()\n")
    _run(after)
