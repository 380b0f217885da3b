"""Edits where the text is hard to read: no fix, or a right one, and never a traceback."""

from __future__ import annotations

import ast

import pytest
from marked import Marked

from gradsense.fixes.detach import detach
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.fixes.out_of_place import out_of_place
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.tree import ancestors, block_of, statement_of
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.parse import parse
from gradsense.syntax.source import Source


@pytest.mark.parametrize(
    "text",
    [
        "x += r\ndef f(:\n",
        "print 'python 2'\nx += r\n",
        "x += r\x00\n",
        "﻿x += r\n",
        "\f\nx += r\n",
        "x += r\n\f",
        "if a:\n\tx += r\n        y = (\n",
    ],
)
def test_text_that_is_broken_elsewhere(text: str) -> None:
    source = Source.from_text("program.py", text)
    tree = parse(source).tree
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    assert statements
    for statement in statements:
        edits = out_of_place(source, tree, statement)
        assert edits is not None
        assert "x = x + r" in apply_edits(source.text, edits)
        assert insert_before(source, tree, statement, "new()") is not None
        assert insert_after(source, tree, statement, "new()") is not None


def test_a_node_of_another_tree_has_no_fix() -> None:
    program = Marked("x += r\n")
    stranger = ast.parse("x += r\n").body[0]
    assert isinstance(stranger, ast.AugAssign)
    assert ancestors(program.tree, stranger) == ()
    assert block_of(program.tree, stranger) is None
    assert out_of_place(program.source, program.tree, stranger) is None
    assert insert_before(program.source, program.tree, stranger, "new()") is None
    assert insert_after(program.source, program.tree, stranger, "new()") is None
    assert detach(program.source, program.tree, stranger.value) is None
    assert statement_of(program.tree, stranger.value) is None


def test_a_table_of_data_is_not_read_with_libcst() -> None:
    program = Marked(f"x = f(«h», [{'1, ' * 40_000}])\n")
    assert detach(program.source, program.tree, *program.expressions()) is None


def test_a_deep_expression_is_no_traceback() -> None:
    deep = "(" * 80 + "«h»" + ")" * 80
    program = Marked(f"x = {deep}\n")
    assert program.after(detach(program.source, program.tree, *program.expressions())) is not None
    program = Marked(f"x = «h» + {' + '.join(['y'] * 900)}\n")
    detach(program.source, program.tree, *program.expressions())


def test_a_long_file_costs_no_more_than_its_statement() -> None:
    program = Marked("y = f(1, 2)\n" * 20_000 + "x = «h»\n")
    after = program.after(detach(program.source, program.tree, *program.expressions()))
    assert after is not None and after.endswith("x = h.detach()\n")


def test_an_excerpt_is_one_simple_statement_or_one_expression() -> None:
    program = Marked("if f(a):\n    b = 1\n")
    statement = program.tree.body[0]
    assert isinstance(statement, ast.If)
    assert Excerpt.around(program.source, program.tree, statement) is None
    header = Excerpt.around(program.source, program.tree, statement.test)
    assert header is not None and header.expression(statement.test) is not None
