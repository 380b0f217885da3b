"""Method calls added, taken off and renamed."""

from __future__ import annotations

import ast

import pytest
from marked import Marked, on_expressions

from gradsense.fixes.methods import (
    call_instead,
    call_method,
    drop_last,
    rename_method,
    replace_expression,
    require_grad_last,
)


def test_call_method() -> None:
    assert on_expressions("loss = «crit(net(x), y)»\n", call_method, "mean") == "loss = crit(net(x), y).mean()\n"
    assert on_expressions("g = grad(«a * b», z)[0]\n", call_method, "mean") == "g = grad((a * b).mean(), z)[0]\n"
    assert on_expressions("g = «(a, b)»\n", call_method, "mean") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«loss.item()».backward()\n", "loss.backward()\n"),
        ("x = «net(x).data»\n", "x = net(x)\n"),
        ("x = «(a + b).item()»\n", "x = (a + b)\n"),
        ("x = (\n    «f(x)  # c\n    .item()»\n)\n", "x = (\n    f(x)  # c\n)\n"),
        ("x = «f»\n", None),
        ("x = «f(x)»\n", None),
    ],
)
def test_drop_last(before: str, after: str | None) -> None:
    assert on_expressions(before, drop_last) == after


def test_rename_method() -> None:
    assert on_expressions("t += «loss.item()»  # c\n", rename_method, "detach") == "t += loss.detach()  # c\n"
    assert on_expressions("t += «loss.item()»\n", rename_method, "item") is None
    assert on_expressions("t += «float(loss)»\n", rename_method, "detach") is None


def test_call_instead() -> None:
    before = "loss = «torch.tensor([f(r) for r in rs], requires_grad=True)».sum()\n"
    assert on_expressions(before, call_instead, "torch.stack", ("requires_grad", "dtype")) == (
        "loss = torch.stack([f(r) for r in rs]).sum()\n"
    )


def test_require_grad_last() -> None:
    before = "w = «torch.randn(4, 1, requires_grad=True) * 0.01»  # small\n"
    program = Marked(before)
    call = next(node for node in ast.walk(program.tree) if isinstance(node, ast.Call))
    edits = require_grad_last(program.source, program.tree, program.expressions()[0], call)
    assert program.after(edits) == "w = (torch.randn(4, 1) * 0.01).requires_grad_()  # small\n"
    assert require_grad_last(program.source, program.tree, call, call) is None


def test_replace_expression() -> None:
    before = "loss = f(«torch.tensor(loss)»)\n"
    assert on_expressions(before, replace_expression, "loss") == "loss = f(loss)\n"
    assert on_expressions("f(«x»)\n", replace_expression, "x") is None
