"""Code nested too deep for recursive visitors, or for Python itself."""

from __future__ import annotations

import ast
from typing import cast

import pytest
from tests.syntax.programs import lines_of, read

from gradsense.syntax.depth import MAX_DEPTH
from gradsense.syntax.source import UNKNOWN


def depth(tree: ast.AST) -> int:
    level: list[ast.AST] = [tree]
    count = 0
    while level:
        count += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return count


DEEP = {
    "parentheses": "(" * 10_000 + "1" + ")" * 10_000,
    "attributes": "a" + ".b" * 2_000,
    "many attributes": "a" + ".b" * 100_000,
    "calls": "a" + "()" * 500,
    "sums": "1" + "+1" * 20_000,
    "sums over lines": "(1\n" + "+1\n" * 500 + ")",
    "minus": "-" * 5_000 + "1",
    "more minus": "-" * 100_000 + "1",
    "lambdas": "lambda: " * 1_000 + "1",
    "conditions": "a if b else " * 400 + "c",
    "brackets": "[" * 180 + "]" * 180,
    "powers": "2 ** " * 300 + "2",
    "subscripts": "a" + "[0]" * 300,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
@pytest.mark.parametrize("place", ["x = {}", "f(1, k={})", "def f(a={}): pass", "if {}:\n    pass", "del y; {}"])
def test_deep_expressions_become_unknown(text: str, place: str) -> None:
    parsed = read(f"before = 1\n{place.format(text)}\nafter = before\n")
    assert depth(parsed.tree) < MAX_DEPTH + 20
    assert ast.unparse(parsed.tree.body[0]) == "before = 1"
    assert ast.unparse(parsed.tree.body[-1]) == "after = before"
    assert len(parsed.problems) == 1
    assert "nested" in parsed.problems[0].message


def test_what_stands_in_has_the_place_of_what_was_there() -> None:
    parsed = read("x = a" + ".b" * 200 + "\n")
    value = cast(ast.Assign, parsed.tree.body[0]).value
    assert isinstance(value, ast.Name)
    assert value.id == UNKNOWN
    assert parsed.source.span_of(value).end_column == 405


@pytest.mark.parametrize(
    "text",
    [
        "a{} = 1",
        "for a{} in y:\n    pass",
        "with x as a{}:\n    pass",
        "@a{}\ndef f(): pass",
        "@a{}\nclass A:\n    pass",
        "class A(a{}):\n    pass",
        "try:\n    pass\nexcept a{}:\n    pass",
        "match x:\n    case a{}:\n        pass",
        "match x:\n    case _ if a{}:\n        pass",
        "def f(x: a{}) -> int: pass",
        "while x: y = a{}",
    ],
)
def test_wherever_they_stand(text: str) -> None:
    assert depth(read(text.format(".b" * 400)).tree) < MAX_DEPTH + 20


def test_a_deep_pattern() -> None:
    text = "match x:\n    case " + "[" * 180 + "]" * 180 + ":\n        y = 1"
    assert depth(read(text).tree) < MAX_DEPTH + 20


def test_ordinary_depth_stays() -> None:
    text = "x = a" + ".b" * (MAX_DEPTH - 10)
    assert ast.unparse(read(text).tree) == text
    assert not lines_of(text)


@pytest.mark.parametrize("count", [200, 400, 30_000])
def test_long_chains_of_branches_are_cut(count: int) -> None:
    text = "if a: x = 0\n" + "elif b: x = 1\n" * count + "after = 1"
    parsed = read(text)
    assert depth(parsed.tree) < MAX_DEPTH + 20
    assert ast.unparse(parsed.tree.body[-1]) == "after = 1"
    assert "left out" in lines_of(text)


def test_long_flat_code_is_not_deep() -> None:
    text = "x = [" + ", ".join(map(str, range(2_000))) + "]"
    assert ast.unparse(read(text).tree) == text


@pytest.mark.parametrize("levels", [90, 99, 100, 101, 500, 3_000])
@pytest.mark.parametrize("header", ["if x:", "def f():", "x = 1", "try:"])
def test_stairs(levels: int, header: str) -> None:
    text = "\n".join(" " * level + header for level in range(levels)) + "\nafter = 1"
    parsed = read(text)
    assert depth(parsed.tree) < MAX_DEPTH + 20
    assert ast.unparse(parsed.tree.body[-1]) == "after = 1"
