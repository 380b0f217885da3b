"""Turns the in-place form of all activations and dropouts of a model off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.keywords import INPLACE_POSITION, callee_name, inplace_false
from gradsense.fixes.out_of_place import out_of_place
from gradsense.syntax.source import Source


def in_place_activations(scope: ast.AST) -> list[ast.Call]:
    """The calls in a class, or a file, that make or apply an activation or a dropout which writes to its input."""
    return [node for node in ast.walk(scope) if isinstance(node, ast.Call) and _writes(node)]


def turn_off(source: Source, tree: ast.Module, calls: list[ast.Call]) -> Edits | None:
    """Has them make new tensors: modules by their argument, functions as `x = F.relu(x)` where they were a statement.

    Returns:
        None where one of them cannot be changed.
    """
    return combine(*_edits(source, tree, calls))


def _edits(source: Source, tree: ast.Module, calls: list[ast.Call]) -> Iterator[Edits | None]:
    for call in calls:
        if callee_name(call)[:1].isupper():
            yield inplace_false(source, tree, call)
        else:
            yield out_of_place(source, tree, call)


def _writes(call: ast.Call) -> bool:
    name = callee_name(call)
    if name not in INPLACE_POSITION:
        return False
    for keyword in call.keywords:
        if keyword.arg == "inplace":
            return _is_true(keyword.value)
    position = INPLACE_POSITION[name]
    before = call.args[: position + 1]
    return len(before) > position and not any(isinstance(a, ast.Starred) for a in before) and _is_true(before[position])


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
