"""Statements moved into a loop, up and down."""

from __future__ import annotations

import ast

import pytest
from marked import Marked, on_statements

from gradsense.fixes.move import move_after, move_before, move_group_after, move_into_loop


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "«gate = sigmoid(theta)»  # shared\nfor x in xs:\n    f(x, gate)\n",
            "for x in xs:\n    gate = sigmoid(theta)  # shared\n    f(x, gate)\n",
        ),
        (
            "«gate = sigmoid(theta)»\nopt = Adam()\nfor x in xs:\n    f(x, gate)\n",
            "opt = Adam()\nfor x in xs:\n    gate = sigmoid(theta)\n    f(x, gate)\n",
        ),
        (
            "«losses = []»\nwhile go():\n\tf(losses)\n",
            "while go():\n\tlosses = []\n\tf(losses)\n",
        ),
        (
            "«g = f(\n    a,  # one\n    b,\n)»\r\nfor x in xs:\r\n    f(x, g)\r\n",
            "for x in xs:\r\n    g = f(\r\n        a,  # one\r\n        b,\r\n    )\r\n    f(x, g)\r\n",
        ),
        (
            "if a:\n    «g = f(\n        a,\n    )»\n    for x in xs:\n        f(x, g)\n",
            "if a:\n    for x in xs:\n        g = f(\n            a,\n        )\n        f(x, g)\n",
        ),
        (
            "«noise = G(x)»\n«adv = x + noise»\nfor i in range(2):\n    f(adv)\n",
            "for i in range(2):\n    noise = G(x)\n    adv = x + noise\n    f(adv)\n",
        ),
        ("«g = f(a)»\nfor x in xs: h(x, g)\n", "for x in xs: g = f(a); h(x, g)\n"),
        ("a(); «g = f(a)»\nfor x in xs:\n    h(x, g)\n", "a()\nfor x in xs:\n    g = f(a)\n    h(x, g)\n"),
        (
            "«g = f(a)»\nif b:\n    for x in xs:\n        h(x, g)\n",
            "if b:\n    for x in xs:\n        g = f(a)\n        h(x, g)\n",
        ),
        ("«g = f(a)»\nif g:\n    for x in xs:\n        h(x, g)\n", None),
        ("«g = f(a)»\nprint(g)\nfor x in xs:\n    h(x, g)\n", None),
        ("«xs = f(a)»\nfor x in xs:\n    h(x)\n", None),
        ("«n = f(a)»\nwhile n:\n    h(n)\n", None),
        ("for x in xs:\n    h(x)\n«g = f(a)»\n", None),
        ("«g = '''\n  a\n'''»\nfor x in xs:\n    h(x, g)\n", None),
        ("«if a:\n    g = 1»\nfor x in xs:\n    h(x, g)\n", None),
    ],
)
def test_move_into_loop(before: str, after: str | None) -> None:
    if "\r\n" in before:
        before, after = before.replace("\r\n", "\n").replace("\n", "\r\n"), after
    program = Marked(before)
    loop = next(node for node in ast.walk(program.tree) if isinstance(node, ast.For | ast.While))
    assert program.after(move_into_loop(program.source, program.tree, program.statements(), loop)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "«opt.step()»  # now\nb = f(x)\n«b.backward()»\n",
            "b = f(x)\nb.backward()\nopt.step()  # now\n",
        ),
        ("«opt.step()»; «b.backward()»\n", "b.backward()\nopt.step()\n"),
        ("«opt.step()»\n«b.backward()»; c()\n", "b.backward(); opt.step(); c()\n"),
        ("if a:\n\t«opt.step()»\n\t«b.backward()»", "if a:\n\tb.backward()\n\topt.step()"),
        ("«b = f(x)»\n«print(b)»\n", None),
        ("«print(b)»\n«b = f(x)»\n", None),
        ("«b = 1»\n«b = 2»\n", None),
        ("«opt.step()»\nif a:\n    «b.backward()»\n", None),
    ],
)
def test_move_after(before: str, after: str | None) -> None:
    assert on_statements(before, move_after) == after


def test_move_before() -> None:
    before = "a()\n«err.backward()»\ndump(err)\n"
    program = Marked(before)
    dump = program.tree.body[2]
    assert program.after(move_before(program.source, program.tree, dump, program.statements()[0])) == (
        "a()\ndump(err)\nerr.backward()\n"
    )
    assert move_before(program.source, program.tree, program.tree.body[0], dump) is None


def test_a_statement_is_not_moved_away_from_what_it_reads() -> None:
    program = Marked("a()\nx = f()\ng(x)\n")
    first, last = program.tree.body[0], program.tree.body[2]
    assert move_before(program.source, program.tree, last, first) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "«p = D(f)»  # fake\nzero()\n«g = -p.mean()»\n«opt.step()»\ng.backward()\n",
            "zero()\nopt.step()\np = D(f)  # fake\ng = -p.mean()\ng.backward()\n",
        ),
        ("«p = D(f)»\nprint(p)\n«g = -p»\n«opt.step()»\n", None),
        ("«p = D(f)»\nf = 0\n«g = -p»\n«opt.step()»\n", None),
        ("«p = D(f)»\nif a:\n    «g = -p»\n«opt.step()»\n", None),
    ],
)
def test_move_group_after(before: str, after: str | None) -> None:
    program = Marked(before)
    *group, anchor = program.statements()
    assert program.after(move_group_after(program.source, program.tree, group, anchor)) == after
