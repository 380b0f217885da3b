"""Writes to what a mask chooses of a tensor, as a new tensor: `x[m] *= 2` as `x = torch.where(m, x * 2, x)`."""

from __future__ import annotations

import ast
import copy

from gradsense.fixes.fix import Edits
from gradsense.fixes.torch_names import spelling
from gradsense.fixes.tree import may_not_repeat, same_expression
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source


def with_where(source: Source, tree: ast.Module, statement: ast.stmt) -> Edits | None:
    """Rewrites `x[m] = value`, or `x[m] += value`, where `m` compares `x` itself, with `torch.where`.

    The value may be made of numbers and of `x[m]`, so that it has the shape of `x` when it is made from all of it.

    Returns:
        None where it is not such a statement, or no import reaches torch.
    """
    if isinstance(statement, ast.AugAssign):
        target, value = statement.target, statement.value
        if not isinstance(target, ast.Subscript):
            return None
        read = ast.Subscript(target.value, target.slice, ast.Load())
        value = ast.BinOp(read, statement.op, value)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        first = statement.targets[0]
        if not isinstance(first, ast.Subscript):
            return None
        target, value = first, statement.value
    else:
        return None
    tensor, mask = target.value, target.slice
    if not isinstance(tensor, ast.Name | ast.Attribute) or may_not_repeat(tensor) or not _compares(mask, tensor):
        return None
    whole = _whole(value, tensor, mask)
    name = spelling(tree, statement, "torch.where")
    if whole is None or name is None:
        return None
    x = source.slice(source.span_of(tensor))
    chosen = source.slice(source.span_of(mask))
    text = f"{x} = {name}({chosen}, {ast.unparse(whole)}, {x})"
    return (TextEdit(source.path, source.span_of(statement), text),) if "\n" not in text else None


def _compares(mask: ast.expr, tensor: ast.expr) -> bool:
    return (
        isinstance(mask, ast.Compare)
        and len(mask.comparators) == 1
        and same_expression(mask.left, tensor)
        and _is_number(mask.comparators[0])
    )


def _whole(value: ast.expr, tensor: ast.expr, mask: ast.expr) -> ast.expr | None:
    """The value for all of the tensor; None where it is made of anything else than numbers and the chosen part."""
    if _is_number(value):
        return value
    if isinstance(value, ast.Subscript):
        own = same_expression(value.value, tensor) and ast.dump(value.slice) == ast.dump(mask)
        return copy.deepcopy(tensor) if own else None
    if isinstance(value, ast.UnaryOp):
        operand = _whole(value.operand, tensor, mask)
        return None if operand is None else ast.UnaryOp(value.op, operand)
    if isinstance(value, ast.BinOp):
        left, right = _whole(value.left, tensor, mask), _whole(value.right, tensor, mask)
        return None if left is None or right is None else ast.BinOp(left, value.op, right)
    return None


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
