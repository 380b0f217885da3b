"""Which functions of a program run at all."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from oracle import run_program

REACHED = "this function runs"


def unreached_lines(text: str, lines: Iterable[int]) -> set[int]:
    """Those of the lines that lie in a function which never runs when the program does.

    A finding there is about what happens to a caller to come, which running the program cannot tell.

    Args:
        text: a program that runs to its end.
        lines: the lines to judge.
    """
    wanted = set(lines)
    found: set[int] = set()
    for function in _functions(ast.parse(text)):
        first, last = function.lineno, function.end_lineno or function.lineno
        inside = {line for line in wanted - found if first <= line <= last}
        if inside and not _runs(text, function.lineno):
            found |= inside
    return found


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _runs(text: str, line: int) -> bool:
    tree = ast.parse(text)
    for function in _functions(tree):
        if function.lineno == line:
            function.body.insert(0, ast.parse(f"raise RuntimeError({REACHED!r})").body[0])
    outcome = run_program(ast.unparse(tree), main="main.py")
    return outcome.kind == "raises"
