"""Which blocks of a program run at all."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from oracle import run_program

REACHED = "this block runs"
KNOWN_CALLS = frozenset({"len", "isinstance", "dim", "size", "is_tensor"})
Block = tuple[int, int, list[ast.stmt]]


def unreached_lines(text: str, lines: Iterable[int]) -> set[int]:
    """Those of the lines that lie in a block which does not run when the program does.

    Blocks are functions, and branches on the values of tensors. A finding there is about a caller to come or about
    other data, which running the program cannot tell.

    Args:
        text: a program that runs to its end.
        lines: the lines to judge.
    """
    wanted = set(lines)
    found: set[int] = set()
    for index, (first, last, _) in enumerate(_blocks(ast.parse(text))):
        inside = {line for line in wanted - found if first <= line <= last}
        if inside and not _runs(text, index):
            found |= inside
    return found


def _blocks(tree: ast.Module) -> list[Block]:
    blocks: list[Block] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            blocks.append((node.lineno, node.end_lineno or node.lineno, node.body))
        elif isinstance(node, ast.If) and _depends_on_data(node.test):
            for suite in (node.body, node.orelse):
                if suite:
                    blocks.append((suite[0].lineno, suite[-1].end_lineno or suite[-1].lineno, suite))
    return blocks


def _depends_on_data(test: ast.expr) -> bool:
    calls = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    return bool(names - KNOWN_CALLS)


def _runs(text: str, index: int) -> bool:
    tree = ast.parse(text)
    _blocks(tree)[index][2].insert(0, ast.parse(f"raise SystemError({REACHED!r})").body[0])
    outcome = run_program(ast.unparse(tree), main="main.py")
    return outcome.message == REACHED
