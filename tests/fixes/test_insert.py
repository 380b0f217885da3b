"""New statements before and after those that are there."""

from __future__ import annotations

import json

import pytest
from marked import Marked, on_statements

from gradsense.fixes.insert import (
    clone_before,
    detach_after,
    detach_before,
    insert_after,
    insert_before,
    insert_zero_grad,
)
from gradsense.fixes.layout import indent_unit
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.parse import parse
from gradsense.syntax.source import Source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«a()»\n", "new()\na()\n"),
        ("«a()»", "new()\na()"),
        ("x = 1  # c\n«a()»\n", "x = 1  # c\nnew()\na()\n"),
        ("# about a\n«a()»\n", "# about a\nnew()\na()\n"),
        ("# %%\n«a()»\n", "# %%\nnew()\na()\n"),
        ("for x in y:\n    b()\n    «a()»\n", "for x in y:\n    b()\n    new()\n    a()\n"),
        ("for x in y:\n\t«a()»\n", "for x in y:\n\tnew()\n\ta()\n"),
        ("for x in y:\r\n    «a()»\r\n", "for x in y:\r\n    new()\r\n    a()\r\n"),
        ("for x in y: «a()»\n", "for x in y: new(); a()\n"),
        ("for x in y: \\\n    «a()»\n", "for x in y: \\\n    new(); a()\n"),
        ("b(); «a()»; c()\n", "b(); new(); a(); c()\n"),
        ("«for x in y:\n    a()»\n", "new()\nfor x in y:\n    a()\n"),
        ("if a:\n    pass\nelse:\n    «a()»\n", "if a:\n    pass\nelse:\n    new()\n    a()\n"),
        ("try:\n    pass\nexcept E:\n    «a()»\n", "try:\n    pass\nexcept E:\n    new()\n    a()\n"),
        ("match a:\n    case 1:\n        «a()»\n", "match a:\n    case 1:\n        new()\n        a()\n"),
        ("def f():\n    «return a»\n", "def f():\n    new()\n    return a\n"),
        ("é = '🔥'; «a()»\n", "é = '🔥'; new(); a()\n"),
    ],
)
def test_insert_before(before: str, after: str) -> None:
    assert on_statements(before, insert_before, "new()") == after


def test_a_decorated_function_keeps_its_decorators() -> None:
    program = Marked("class C:\n    @one\n    @two(3)\n    def f(self): pass\n")
    function = program.tree.body[0].body[0]
    assert program.after(insert_before(program.source, program.tree, function, "new()")) == (
        "class C:\n    new()\n    @one\n    @two(3)\n    def f(self): pass\n"
    )


def test_nothing_can_stand_before_an_elif() -> None:
    program = Marked("if a:\n    pass\nelif b:\n    pass\n")
    assert insert_before(program.source, program.tree, program.tree.body[0].orelse[0], "new()") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«a()»\n", "a()\nnew()\n"),
        ("«a()»", "a()\nnew()"),
        ("«a()»  # c\nb()\n", "a()  # c\nnew()\nb()\n"),
        ("«a()»;  # c\n", "a();  # c\nnew()\n"),
        ("«a(\n    1,  # one\n)»  # c\n", "a(\n    1,  # one\n)  # c\nnew()\n"),
        ("for x in y:\n    «a()»\nb()\n", "for x in y:\n    a()\n    new()\nb()\n"),
        ("for x in y:\n\t«a()»\n\t# end\n", "for x in y:\n\ta()\n\tnew()\n\t# end\n"),
        ("for x in y:\r\n    «a()»", "for x in y:\r\n    a()\r\n    new()"),
        ("for x in y: «a()»\n", "for x in y: a(); new()\n"),
        ("for x in y: «a()»  # c\n", "for x in y: a(); new()  # c\n"),
        ("for x in y: b(); «a()»\n", "for x in y: b(); a(); new()\n"),
        ("b(); «a()»\n", "b(); a()\nnew()\n"),
        ("if x:\n    b(); «a()»\n", "if x:\n    b(); a()\n    new()\n"),
        ("«a()»; b()\n", "a(); new(); b()\n"),
        ("«for x in y:\n    a()»  # c\n\nb()\n", "for x in y:\n    a()  # c\nnew()\n\nb()\n"),
        ("«if a:\n    b()\nelse:\n    c()»\n", "if a:\n    b()\nelse:\n    c()\nnew()\n"),
        ("x = '''\n  text\n'''; «a()»\n", "x = '''\n  text\n'''; a()\nnew()\n"),
        ("def f():\n    «return a»\n", None),
        ("for x in y:\n    «break»\n", None),
    ],
)
def test_insert_after(before: str, after: str | None) -> None:
    assert on_statements(before, insert_after, "new()") == after


def test_several_lines_are_indented_with_the_block() -> None:
    code = "if a:\n    new()\n\nlast()"
    assert on_statements("for x in y:\n  «a()»\n", insert_before, code) == (
        "for x in y:\n  if a:\n      new()\n\n  last()\n  a()\n"
    )
    assert on_statements("for x in y:\n  «a()»\n", insert_after, code) == (
        "for x in y:\n  a()\n  if a:\n      new()\n\n  last()\n"
    )
    assert on_statements("for x in y: «a()»\n", insert_before, code) is None
    assert on_statements("for x in y: «a()»\n", insert_after, code) is None


def test_what_rules_insert() -> None:
    assert on_statements("for x in y:\n    «l.backward()»\n", insert_zero_grad, "self.opt") == (
        "for x in y:\n    self.opt.zero_grad()\n    l.backward()\n"
    )
    program = Marked("for x in y:\n    out, self.h = rnn(x, self.h)\n")
    loop = program.tree.body[0]
    statement = loop.body[0]
    hidden = statement.targets[0].elts[1]
    state = "self.h = self.h.detach()"
    call = "out, self.h = rnn(x, self.h)"
    assert program.after(detach_before(program.source, program.tree, statement, hidden)) == (
        f"for x in y:\n    {state}\n    {call}\n"
    )
    assert program.after(detach_after(program.source, program.tree, statement, hidden)) == (
        f"for x in y:\n    {call}\n    {state}\n"
    )
    assert program.after(clone_before(program.source, program.tree, loop, hidden)) == (
        f"self.h = self.h.clone()\nfor x in y:\n    {call}\n"
    )


def test_only_what_can_be_assigned_to_is_bound_anew() -> None:
    program = Marked("f(x)[0] += 1\n")
    statement = program.tree.body[0]
    assert clone_before(program.source, program.tree, statement, statement.target) is None
    assert detach_before(program.source, program.tree, statement, statement.target) is None
    assert detach_after(program.source, program.tree, statement, statement.target) is None


def test_an_insertion_stays_in_its_notebook_cell() -> None:
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in ("a = 1", "b = 2")]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    source = Source.from_notebook("n.ipynb", data.encode())
    tree = parse(source).tree
    edits = insert_after(source, tree, tree.body[0], "new()")
    assert edits is not None
    assert [source.cell_at(edit.span.line) for edit in edits] == [(0, 1)]
    edits = insert_before(source, tree, tree.body[1], "new()")
    assert edits is not None
    assert [source.cell_at(edit.span.line) for edit in edits] == [(1, 1)]
    assert apply_edits(source.text, edits).rstrip() == "a = 1\nnew()\nb = 2"


@pytest.mark.parametrize(
    ("program", "unit"),
    [("a = 1\n", "    "), ("if a:\n  b\n", "  "), ("if a:\n\tb\n", "\t"), ("if a: b\nif c:\n   d\n", "   ")],
)
def test_the_indentation_is_the_files_own(program: str, unit: str) -> None:
    marked = Marked(program)
    assert indent_unit(marked.source, marked.tree) == unit
