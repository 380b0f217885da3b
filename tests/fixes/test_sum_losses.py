"""Several walks made one."""

from __future__ import annotations

import pytest
from marked import on_statement_list

from gradsense.fixes.sum_losses import sum_losses


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«l1.backward()»\n«l2.backward()»\n", "(l1 + l2).backward()\n"),
        ("«l1.backward()»  # critic\n«l2.backward()»  # actor\nopt.step()\n",
         "(l1 + l2).backward()  # actor\nopt.step()\n"),
        ("«l1.backward(retain_graph=True)»\n«l2.backward()»\n", "(l1 + l2).backward()\n"),
        ("«l1.backward(retain_graph=True)»\n«l2.backward(retain_graph=True)»\n",
         "(l1 + l2).backward(retain_graph=True)\n"),
        ("«l1.backward()»\n«l2.backward()»\n«l3.backward()»\n", "(l1 + l2 + l3).backward()\n"),
        ("«l1.backward()»\n«(0.5 * l2).backward()»\n", "(l1 + 0.5 * l2).backward()\n"),
        ("«(0.5 * l1).backward()»\n«l2.backward()»\n", "(0.5 * l1 + l2).backward()\n"),
        ("«(a - b).backward()»\n«(c - d).backward()»\n", "(a - b + (c - d)).backward()\n"),
        ("«(a if c else b).backward()»\n«l.backward()»\n", "((a if c else b) + l).backward()\n"),
        ("«l1.backward()»\n«(\n    a  # one\n    + b\n).backward()»\n",
         "(l1 + (\n    a  # one\n    + b\n)).backward()\n"),
        ("«f(x).mean().backward()»\n«self.losses[1].backward()»\n", "(f(x).mean() + self.losses[1]).backward()\n"),
        ("for x in y:\r\n\t«a.backward()»\r\n\t«b.backward()»\r\n", "for x in y:\r\n\t(a + b).backward()\r\n"),
        ("«a.backward()»; «b.backward()»\n", "(a + b).backward()\n"),
        ("«l1.backward()»\nlog(l1.item())\nl2 = f(x)\n«l2.backward()»\n",
         "log(l1.item())\nl2 = f(x)\n(l1 + l2).backward()\n"),
        ("«scaler.scale(a).backward()»\n«scaler.scale(0.5 * b).backward()»\n",
         "scaler.scale(a + 0.5 * b).backward()\n"),
        ("«accelerator.backward(a)»\n«accelerator.backward(b)»\n", "accelerator.backward(a + b)\n"),
        ("«self.manual_backward(a)»\n«self.manual_backward(b)»\n", "self.manual_backward(a + b)\n"),
        ("«torch.autograd.backward(a)»\n«torch.autograd.backward(b)»\n", "torch.autograd.backward(a + b)\n"),
        ("«l1.backward()»\nopt.step()\n«l2.backward()»\n", None),
        ("«l1.backward()»\nopt.zero_grad()\n«l2.backward()»\n", None),
        ("«l1.backward()»\nclip_grad_norm_(ps, 1)\n«l2.backward()»\n", None),
        ("«l1.backward()»\nprint(w.grad)\n«l2.backward()»\n", None),
        ("«l1.backward()»\nif a:\n    b()\n«l2.backward()»\n", None),
        ("«l1.backward()»\nl1 = f(x)\n«l2.backward()»\n", None),
        ("«loss.backward()»\nloss = f(x)\n«loss.backward()»\n", None),
        ("«a.backward()»\ntotal += a.item()\nlog['a'] = a.item()\n«b.backward()»\n",
         "total += a.item()\nlog['a'] = a.item()\n(a + b).backward()\n"),
        ("«a.backward()»\nx.add_(1)\n«b.backward()»\n", None),
        ("«a.backward()»\nx += 1\n«b.backward()»\n", None),
        ("«a.backward()»\nx[0] = 1\n«b.backward()»\n", None),
        ("«a.backward()»\nother.backward()\n«b.backward()»\n", None),
        ("«a.backward(gradient=g)»\n«b.backward()»\n", None),
        ("«a.backward(g)»\n«b.backward()»\n", None),
        ("«a.backward(create_graph=True)»\n«b.backward()»\n", None),
        ("«scaler.scale(a).backward()»\n«b.backward()»\n", None),
        ("«one.scale(a).backward()»\n«two.scale(b).backward()»\n", None),
        ("«one.backward(a)»\n«two.backward(b)»\n", None),
        ("if x:\n    «a.backward()»\n«b.backward()»\n", None),
        ("«a.backward()»\n", None),
        ("«y = a.backward()»\n«b.backward()»\n", None),
    ],
)  # fmt: skip
def test_sum_losses(before: str, after: str | None) -> None:
    assert on_statement_list(before, sum_losses) == after
