"""Walking syntax trees, faster than the standard library does, and keeping what was found out about definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

_NOTES: list[WeakKeyDictionary[Any, Any]] = []


def notes() -> WeakKeyDictionary[Any, Any]:
    """A place for what was found out about definitions, for as long as their trees live and stay as they are."""
    made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
    _NOTES.append(made)
    return made


def forget(definitions: Iterable[ast.AST]) -> None:
    """Drops what was found out about functions that changed in place, and about what is defined in them."""
    for definition in definitions:
        for node in nodes_of(definition):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                for kept in _NOTES:
                    kept.pop(node, None)


def nodes_of(tree: ast.AST) -> Iterator[ast.AST]:
    """The node itself and all below it, in no particular order."""
    todo: list[object] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.AST):
            yield node
            for value in vars(node).values():
                if type(value) is list:
                    todo += value
                elif isinstance(value, ast.AST):
                    todo.append(value)
