"""The tolerant scanner against Python's own idea of statements, and on text that Python refuses."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.syntax.programs import FILES

from gradsense.syntax.edits import split_lines
from gradsense.syntax.scanner import Unit, indent_width, scan, unclosed, without_comment


def bounds(text: str, *stops: int) -> list[tuple[int, int]]:
    return [(unit.first, unit.last) for unit in scan(split_lines(text), stops).units]


def broken(text: str) -> list[tuple[int, int]]:
    return [(unit.first, unit.last) for unit in scan(split_lines(text)).units if unit.broken]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_statement_of_a_real_file_begins_a_unit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = scan(split_lines(text))
    starts = {unit.first + 1 for unit in found.units}
    tree = ast.parse(text)
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.excepthandler))]
    assert {node.lineno for node in statements} <= starts
    assert not any(unit.broken for unit in found.units)
    simple = [node for node in statements if not hasattr(node, "body")]
    ends = {unit.last + 1 for unit in found.units}
    assert {node.end_lineno for node in simple} <= ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", [(0, 0), (1, 1)]),
        ("a\n\n# c\n  b\n", [(0, 0), (3, 3)]),
        ("a(\n1,\n# )\n)\nb", [(0, 3), (4, 4)]),
        ("a = '''\nb\n'''\nc", [(0, 2), (3, 3)]),
        ("a = '''\\'''\nb\n'''\nc", [(0, 2), (3, 3)]),
        ("a = 'x\\\ny'\nb", [(0, 1), (2, 2)]),
        ("a + \\\nb\nc", [(0, 1), (2, 2)]),
        ("a # \\\nb", [(0, 0), (1, 1)]),
        ("a = '#' \"(\" r'\\\\'\nb", [(0, 0), (1, 1)]),
        ("x = ''''''\ny = \"\"\nz", [(0, 0), (1, 1), (2, 2)]),
        ("def f(\n    a,\n):\n    pass", [(0, 2), (3, 3)]),
        ("x = \\", [(0, 0)]),
    ],
)
def test_logical_lines(text: str, expected: list[tuple[int, int]]) -> None:
    assert bounds(text) == expected
    assert not broken(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = (1\nb = 2\nc = 3", [(0, 0)]),
        ("a = (\n    1,\n    2\nb = 2", [(0, 2)]),
        ("a = f(g(1)\ndef h():\n    pass", [(0, 0)]),
        ("def f(a, b\n    c = 1\n    return c", [(0, 0)]),
        ("def f(\n    a,\n    b:\n    c = 1\n    return c", [(0, 2)]),
        ("for i in range(3\n    a = i", [(0, 0)]),
        ("a = 'x\nb = 1", [(0, 0)]),
        ("a = )\nb", [(0, 0)]),
        ("a = (]\nb", [(0, 0)]),
        ("a = '''\nb = 1\nc = 2", [(0, 0)]),
        ("a = [\n'''x\n) y\n''',\nb = 1\nreturn", [(0, 0)]),
    ],
)
def test_what_does_not_close_ends_early(text: str, expected: list[tuple[int, int]]) -> None:
    assert broken(text) == expected


def test_of_an_odd_number_of_triple_quotes_the_one_that_swallows_code_is_surplus() -> None:
    text = 'def f():\n    """Open.\n    return 1\n\ndef g():\n    """\n    Doc.\n    """\n    x = 1\n    return x\n'
    assert broken(text) == [(1, 1)]
    assert bounds(text) == [(0, 0), (1, 1), (2, 2), (4, 4), (5, 7), (8, 8), (9, 9)]


def test_nothing_crosses_a_stop() -> None:
    assert bounds("a = (\nb\nc = '''\nd", 1, 3) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_units_know_their_indentation_and_comment() -> None:
    units = scan(["if x:  # why", "\ty = '#'  # how"]).units
    assert units == [Unit(0, 0, 0, comment=7), Unit(1, 1, 8, comment=10)]


def test_all_comments_are_found_and_no_strings() -> None:
    found = scan(["# a", "x = '# b' # c", "y = (  # d", "  # e", ")", '"""', "# f", '"""'])
    assert found.comments == [(0, 0), (1, 10), (2, 7), (3, 2)]


def test_given_statements_are_not_looked_into() -> None:
    assert [(unit.first, unit.last) for unit in scan(["!a (", "b '", "c"], given={0: 1}).units] == [(0, 1), (2, 2)]


@pytest.mark.parametrize(("line", "width"), [("x", 0), ("  x", 2), ("\tx", 8), ("  \t x", 9), (" \x0c  x", 2), ("", 0)])
def test_indentation(line: str, width: int) -> None:
    assert indent_width(line) == width


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(a[1", "])"), ("f()", ""), ("f(')'", ")"), ("f(]", None), ("f('", None), ("'''a\n(", None), ("'''a'''(", ")")],
)
def test_missing_brackets(text: str, expected: str | None) -> None:
    assert unclosed(text) == expected


def test_comments_are_cut_off() -> None:
    assert without_comment("x = '#' # y") == "x = '#' "
    assert without_comment('x = """#""" # y') == 'x = """#""" '
    assert without_comment("x") == "x"
