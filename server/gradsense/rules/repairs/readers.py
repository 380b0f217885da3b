"""Who reads a kept value, and whether they need it to be a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.keywords import callee_name
from gradsense.fixes.torch_names import is_torch_function
from gradsense.fixes.tree import same_expression, scope_of, stored_names
from gradsense.rules.editing import Code

# What numbers have as well.
_OF_NUMBERS = frozenset({"real", "imag", "is_integer", "as_integer_ratio", "conjugate"})
_OF_CONTAINERS = frozenset({
    "append", "appendleft", "extend", "insert", "add", "clear", "pop", "popleft", "items", "values", "keys", "get",
    "update", "setdefault", "index", "count", "sort", "reverse", "copy", "remove", "discard",
})  # fmt: skip


def used_as_tensor(code: Code, target: ast.expr) -> bool:
    """Whether the program treats what `target` holds as a tensor.

    Args:
        target: a name, attribute or subscript; for a subscript, all items of its container count.
    """
    base = target.value if isinstance(target, ast.Subscript) else target
    region = _region(code, base)
    if any(_is_tensor_use(code, node, base) for node in ast.walk(region)):
        return True
    return isinstance(region, ast.FunctionDef | ast.AsyncFunctionDef) and _returned_and_used(code, region, base)


def items_used_as_tensors(code: Code, container: ast.expr, store: ast.stmt) -> bool:
    """Whether the program gives a container's items to torch, or calls tensor methods of them."""
    own = set(ast.walk(store))
    region = _region(code, container)
    for node in ast.walk(region):
        if node in own:
            continue
        if _is_tensor_use(code, node, container):
            return True
        if isinstance(node, ast.Return) and node.value is not None and _mentions(node.value, container):
            return True
    return False


def _region(code: Code, base: ast.expr) -> ast.AST:
    """Where a value can be read: the function for a local name, the file for all else."""
    if not isinstance(base, ast.Name):
        return code.tree
    scope = scope_of(code.tree, base)
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_outer(scope, base.id):
        return scope
    return code.tree


def _is_outer(function: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in ast.walk(function))


def _is_tensor_use(code: Code, node: ast.AST, base: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr not in _OF_NUMBERS | _OF_CONTAINERS:
        return _is_value(node.value, base)
    if isinstance(node, ast.Call) and is_torch_function(code.tree, node.func):
        return any(_mentions(argument, base) for argument in node.args if callee_name(node) != "tensor")
    if isinstance(node, ast.For | ast.comprehension) and _mentions(node.iter, base):
        around = node if isinstance(node, ast.For) else _around(code, node)
        names = stored_names(node.target)
        return any(_is_tensor_part(code, child, names) for child in ast.walk(around))
    return False


def _around(code: Code, comprehension: ast.comprehension) -> ast.AST:
    found = code.ancestors(comprehension.iter)
    return next((node for node in reversed(found) if isinstance(node, ast.stmt)), code.tree)


def _is_tensor_part(code: Code, node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Attribute) and node.attr not in _OF_NUMBERS:
        value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
        return isinstance(value, ast.Name) and value.id in names
    if isinstance(node, ast.Call) and is_torch_function(code.tree, node.func):
        return any(isinstance(one, ast.Name) and one.id in names for one in node.args)
    return False


def _is_value(expression: ast.expr, base: ast.expr) -> bool:
    """Whether an expression is the value itself, an item of it, or arithmetic with it."""
    if isinstance(expression, ast.Subscript):
        return _is_value(expression.value, base)
    if isinstance(expression, ast.BinOp):
        return _is_value(expression.left, base) or _is_value(expression.right, base)
    if isinstance(base, ast.Attribute) and isinstance(expression, ast.Attribute):
        # Another object's name for the same attribute counts, too.
        return expression.attr == base.attr
    return same_expression(expression, base)


def _mentions(expression: ast.expr, base: ast.expr) -> bool:
    return any(isinstance(child, ast.expr) and _is_value(child, base) for child in ast.walk(expression))


def _returned_and_used(code: Code, function: ast.FunctionDef | ast.AsyncFunctionDef, base: ast.expr) -> bool:
    returned = any(
        isinstance(node, ast.Return) and node.value is not None and _mentions(node.value, base)
        for node in ast.walk(function)
    )
    return returned and any(_is_used_result(code, node, function.name) for node in ast.walk(code.tree))


def _is_used_result(code: Code, node: ast.AST, name: str) -> bool:
    """Whether a call's result, or a variable that it is assigned to, is treated as a tensor."""
    if isinstance(node, ast.Attribute) and node.attr not in _OF_NUMBERS:
        return isinstance(node.value, ast.Call) and callee_name(node.value) == name
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or callee_name(node.value) != name:
        return False
    return any(
        _is_tensor_use(code, child, target)
        for part in _names_in(node.targets)
        for target in [part]
        for child in ast.walk(scope_of(code.tree, node))
    )


def _names_in(targets: list[ast.expr]) -> Iterator[ast.Name]:
    for target in targets:
        for child in ast.walk(target):
            if isinstance(child, ast.Name):
                yield child
