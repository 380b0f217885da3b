"""What an expression plainly is, by its spelling: a number, a tensor cut from its graph, a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Methods and functions whose result is a Python number or a list of them.
_NUMBER_METHODS = frozenset({"item", "tolist", "size", "numel", "dim", "ndimension", "count", "get_lr", "get_last_lr"})
_NUMBER_FUNCTIONS = frozenset({"float", "int", "len", "round", "bool", "str", "range", "time"})
_NUMBER_ATTRIBUTES = frozenset({"shape", "ndim", "batch_size"})
# Methods after which a detached tensor still has no graph, whatever their arguments.
_KEEP_DETACHED = frozenset({
    "clone", "contiguous", "cpu", "cuda", "double", "expand", "expand_as", "flatten", "float", "half", "long", "mean",
    "numpy", "permute", "reshape", "size", "squeeze", "sum", "t", "to", "tolist", "transpose", "type", "unsqueeze",
    "view", "view_as",
})  # fmt: skip
# What no longer has a graph although it came from a tensor.
_CUTS = frozenset({"detach", "detach_", "item", "numpy", "tolist", "argmax", "argmin"})


def links(expression: ast.expr) -> Iterator[tuple[str, ast.Call | ast.Attribute]]:
    """The attributes and method calls of a chain such as `x.f(a).g.h()`, from the last one inwards."""
    current = expression
    while True:
        if isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
            yield current.func.attr, current
            current = current.func.value
        elif isinstance(current, ast.Attribute):
            yield current.attr, current
            current = current.value
        elif isinstance(current, ast.Subscript):
            current = current.value
        else:
            return


def is_number(expression: ast.expr) -> bool:
    """Whether an expression is plainly a Python number: a literal, `len(…)`, `x.size(0)`, `x.item()`, sums of these."""
    if isinstance(expression, ast.Constant):
        return True
    if isinstance(expression, ast.UnaryOp):
        return is_number(expression.operand)
    if isinstance(expression, ast.BinOp):
        return is_number(expression.left) and is_number(expression.right)
    if isinstance(expression, ast.Subscript):
        return is_number(expression.value)
    if isinstance(expression, ast.Attribute):
        return expression.attr in _NUMBER_ATTRIBUTES
    if isinstance(expression, ast.Call):
        if isinstance(expression.func, ast.Name):
            return expression.func.id in _NUMBER_FUNCTIONS
        return isinstance(expression.func, ast.Attribute) and expression.func.attr in _NUMBER_METHODS
    return False


def is_cut(expression: ast.expr) -> bool:
    """Whether an expression plainly has no graph: `x.detach()`, `x.detach().cpu()`, `x.data`, a number."""
    if is_number(expression):
        return True
    for name, node in links(expression):
        if name in _CUTS and isinstance(node, ast.Call):
            return True
        if name == "data" and isinstance(node, ast.Attribute):
            return True
        if name not in _KEEP_DETACHED:
            return False
    return False


def has_no_graph_form(expression: ast.expr) -> bool:
    """Whether `.detach()` on an expression makes no sense: a display, a string, a lambda's absence, a target."""
    if isinstance(getattr(expression, "ctx", None), ast.Store | ast.Del):
        return True
    return isinstance(
        expression,
        ast.Tuple
        | ast.List
        | ast.Dict
        | ast.Set
        | ast.ListComp
        | ast.SetComp
        | ast.DictComp
        | ast.GeneratorExp
        | ast.Starred
        | ast.Slice
        | ast.JoinedStr
        | ast.FormattedValue
        | ast.Constant,
    )
