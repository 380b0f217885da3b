"""Keyword arguments set and dropped: commas, lines and comments."""

from __future__ import annotations

import ast

import pytest
from marked import Marked, on_expressions

from gradsense.fixes.keywords import (
    INPLACE_POSITION,
    callee_name,
    drop_inplace,
    drop_keyword,
    inplace_false,
    set_keyword,
    set_keywords,
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("g = «grad(l, x)»  # why\n", "g = grad(l, x, create_graph=True)  # why\n"),
        ("g = «grad()»\n", "g = grad(create_graph=True)\n"),
        ("g = «grad( )»\n", "g = grad(create_graph=True)\n"),
        ("g = «grad(l, x,)»\n", "g = grad(l, x, create_graph=True,)\n"),
        ("g = «grad(l, x, create_graph=False)»\n", "g = grad(l, x, create_graph=True)\n"),
        ("g = «grad(l, x, create_graph = flag)»\n", "g = grad(l, x, create_graph = True)\n"),
        ("g = «grad(l, x, create_graph=True)»\n", None),
        ("g = «grad(l, *xs)»\n", "g = grad(l, *xs, create_graph=True)\n"),
        ("g = «grad(l, **options)»\n", None),
        ("g = «grad(l for l in ls)»\n", "g = grad((l for l in ls), create_graph=True)\n"),
        ("g = «torch.autograd.grad(l, x)»[0]\n", "g = torch.autograd.grad(l, x, create_graph=True)[0]\n"),
        ("«f(a)(b)»\n", "f(a)(b, create_graph=True)\n"),
        ("if «grad(l)»: pass\n", "if grad(l, create_graph=True): pass\n"),
        ("g = «grad(\n    l,\n    x\n)»\n", "g = grad(\n    l,\n    x,\n    create_graph=True\n)\n"),
        ("g = «grad(\n    l,\n    x,\n)»\n", "g = grad(\n    l,\n    x,\n    create_graph=True,\n)\n"),
        (
            "g = «grad(\n    l,\n    x,  # inputs\n)»\n",
            "g = grad(\n    l,\n    x,  # inputs\n    create_graph=True,\n)\n",
        ),
        (
            "g = «grad(\n    l,\n    x  # inputs\n)»\n",
            "g = grad(\n    l,\n    x,  # inputs\n    create_graph=True\n)\n",
        ),
        ("g = «grad(\n    l, x\n)»\n", "g = grad(\n    l, x,\n    create_graph=True\n)\n"),
        ("g = «grad(l,\n         x)»\n", "g = grad(l,\n         x, create_graph=True)\n"),
        ("\tg = «grad(\r\n\t\tl,\r\n\t)»\r\n", "\tg = grad(\r\n\t\tl,\r\n\t\tcreate_graph=True,\r\n\t)\r\n"),
    ],
)
def test_set_keyword(before: str, after: str | None) -> None:
    if before.startswith("\t"):
        before, after = f"if a:\r\n{before}", after and f"if a:\r\n{after}"
    assert on_expressions(before, set_keyword, "create_graph", "True") == after


def test_an_argument_given_by_position_is_changed_there() -> None:
    before = "g = «grad(l, x, None, False)»\n"
    assert on_expressions(before, set_keyword, "retain_graph", "True", 3) == "g = grad(l, x, None, True)\n"
    assert on_expressions("g = «grad(*xs)»\n", set_keyword, "retain_graph", "True", 3) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«l.backward(retain_graph=True)»  # why\n", "l.backward()  # why\n"),
        ("«f(a, retain_graph=True)»\n", "f(a)\n"),
        ("«f(retain_graph=True, a=1)»\n", "f(a=1)\n"),
        ("«f(a, retain_graph=True, b=1)»\n", "f(a, b=1)\n"),
        ("«f(a, retain_graph=True,)»\n", "f(a,)\n"),
        ("«f(a)»\n", None),
        ("«f(\n    a,  # first\n    retain_graph=True\n)»\n", "f(\n    a  # first\n)\n"),
        ("«f(\n    a,  # first\n    retain_graph=True,  # why\n)»\n", "f(\n    a,  # first\n)\n"),
        ("«f(\n    retain_graph=True,\n    a=1,\n)»\n", "f(\n    a=1,\n)\n"),
        ("«f(\n    retain_graph=True,\n)»\n", "f()\n"),
        ("«f(a,  # first\n  retain_graph=True)»\n", "f(a  # first\n  )\n"),
        ("«f(a,\n  retain_graph=True)»\n", "f(a)\n"),
        ("«f(g(retain_graph=True), retain_graph=True)»\n", "f(g(retain_graph=True))\n"),
    ],
)
def test_drop_keyword(before: str, after: str | None) -> None:
    assert on_expressions(before, drop_keyword, "retain_graph") == after


def test_an_argument_given_by_position_is_dropped_only_from_the_end() -> None:
    assert on_expressions("«l.backward(None, True)»\n", drop_keyword, "retain_graph", 1) == "l.backward(None)\n"
    assert on_expressions("«l.backward(None, True, False)»\n", drop_keyword, "retain_graph", 1) is None


@pytest.mark.parametrize(
    ("before", "false", "dropped"),
    [
        ("«nn.ReLU(inplace=True)»\n", "nn.ReLU(inplace=False)\n", "nn.ReLU()\n"),
        ("«nn.ReLU(True)»\n", "nn.ReLU(False)\n", "nn.ReLU()\n"),
        ("«nn.ReLU()»\n", None, None),
        ("«nn.ReLU(inplace=False)»\n", None, None),
        ("«nn.Dropout(0.5, True)»\n", "nn.Dropout(0.5, False)\n", "nn.Dropout(0.5)\n"),
        ("«nn.Dropout(p=0.5, inplace=flag)»\n", "nn.Dropout(p=0.5, inplace=False)\n", "nn.Dropout(p=0.5)\n"),
        ("«F.dropout(x, 0.5, t, True)»\n", "F.dropout(x, 0.5, t, False)\n", "F.dropout(x, 0.5, t)\n"),
        ("«F.relu(input=x, inplace=True)»\n", "F.relu(input=x, inplace=False)\n", "F.relu(input=x)\n"),
        ("«Block(3, inplace=True)»\n", "Block(3, inplace=False)\n", "Block(3)\n"),
    ],
)
def test_inplace_turned_off(before: str, false: str | None, dropped: str | None) -> None:
    assert on_expressions(before, inplace_false) == false
    assert on_expressions(before, drop_inplace) == dropped


def test_all_activations_of_a_model() -> None:
    program = Marked("net = nn.Sequential(\n    nn.ReLU(True),\n    nn.Linear(1, 1),\n    nn.ReLU(inplace=True),\n)\n")
    calls = [node for node in ast.walk(program.tree) if isinstance(node, ast.Call) and callee_name(node) == "ReLU"]
    edits = set_keywords(program.source, program.tree, calls, "inplace", "False")
    assert program.after(edits) == (
        "net = nn.Sequential(\n    nn.ReLU(False),\n    nn.Linear(1, 1),\n    nn.ReLU(inplace=False),\n)\n"
    )
    assert set_keywords(program.source, program.tree, [], "inplace", "False") is None


def test_the_table_of_positions_is_torch_s() -> None:
    torch = pytest.importorskip("torch")
    import inspect

    for name, position in INPLACE_POSITION.items():
        owner = torch.nn if name[0].isupper() else torch.nn.functional
        what = getattr(owner, name)
        parameters = list(inspect.signature(what).parameters)
        assert parameters.index("inplace") == position, name
    for name in dir(torch.nn):
        what = getattr(torch.nn, name)
        if isinstance(what, type) and "inplace" in inspect.signature(what).parameters:
            assert name in INPLACE_POSITION
