"""Walking syntax trees, faster than the standard library does."""

from __future__ import annotations

import ast
from collections.abc import Iterator


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
