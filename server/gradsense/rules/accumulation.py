"""Telling a running total from other ways to keep a value."""

from __future__ import annotations

import ast

from gradsense.machine.graph import Store
from gradsense.machine.values import DictValue, ListValue

_SUMS = (ast.Add, ast.Sub)
_IN_PLACE = frozenset({"add_", "sub_", "mul_", "addcmul_", "lerp_"})


def is_accumulation(store: Store) -> bool:
    """Whether the store adds to what its target held: `total += loss`, `total.add_(loss)`, `d[k] = d[k] + loss`."""
    node = store.place.node
    if isinstance(store.what, tuple | ListValue | DictValue):
        return False
    if isinstance(node, ast.AugAssign):
        # `losses += [loss]` makes a list longer.
        longer = store.kind == "item" and not isinstance(node.target, ast.Subscript)
        return isinstance(node.op, (*_SUMS, ast.Mult)) and not longer
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _IN_PLACE
    value = store.value
    if value is None or not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    target = ast.unparse(node)
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, _SUMS) and target in _operands(part)
        for part in ast.walk(value)
    )


def _operands(node: ast.BinOp) -> set[str]:
    """The operands of a sum, with their factors, as written."""
    found: set[str] = set()
    todo: list[ast.expr] = [node.left, node.right]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.BinOp):
            todo += [part.left, part.right]
        else:
            found.add(ast.unparse(part))
    return found
