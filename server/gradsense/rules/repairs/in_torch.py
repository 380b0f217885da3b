"""Computes with tensors what was computed with numpy's arrays."""

from __future__ import annotations

import ast

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.torch_names import meaning, spelling
from gradsense.fixes.tree import same_expression
from gradsense.rules.editing import Code
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.spans import Span

# What leads from a tensor to an array.
_WAY = frozenset({"cpu", "data", "detach", "numpy"})
# Functions of one argument that torch has under the same name, and methods likewise.
_SAME = frozenset("abs cos exp log mean sin sqrt square sum tanh".split())
_METHODS = frozenset({"mean", "reshape", "squeeze", "sum"})
# What makes a tensor of an array again.
_MAKERS = frozenset({"torch.FloatTensor", "torch.Tensor", "torch.as_tensor", "torch.from_numpy", "torch.tensor"})


def in_torch(code: Code, expression: ast.expr) -> Edits | None:
    """The edits that leave out the way to numpy and back.

    Args:
        expression: the part of `loss.detach().cpu().numpy()` at which the graph ends.

    Returns:
        None where numpy does something that is not known to be the same in torch.
    """
    whole = expression
    around = list(code.ancestors(whole))
    while isinstance(around[-1], ast.Attribute | ast.Call) and _on_the_way(around[-1], whole):
        parent = around.pop()
        assert isinstance(parent, ast.expr)
        whole = parent
    tensor = whole
    is_array = False
    while (inner := _one_back(tensor)) is not None:
        is_array = is_array or _name(tensor) == "numpy"
        tensor = inner
    if not is_array:
        return None
    used = _used(code, whole, tensor, 0)
    span = Span(*code.source.span_of(tensor).end, *code.source.span_of(whole).end)
    if used is not None and any(edit.span.contains(span) for edit in used):
        return used
    return combine(_cut(code, span.start, span.end), used)


def is_walked(code: Code, expression: ast.expr) -> bool:
    """Whether `backward()` is called on an expression, or on the variable that it is assigned to."""
    parent = code.ancestors(expression)[-1]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        region = code.function(expression) or code.tree
        walked = [
            node.value for node in ast.walk(region) if isinstance(node, ast.Attribute) and node.attr == "backward"
        ]
        return any(isinstance(value, ast.Name) and value.id == name for value in walked)
    return isinstance(parent, ast.Attribute) and parent.attr == "backward"


def _on_the_way(parent: ast.Attribute | ast.Call, inner: ast.expr) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _WAY
    return parent.func is inner and isinstance(inner, ast.Attribute) and inner.attr in _WAY


def _one_back(expression: ast.expr) -> ast.expr | None:
    """What one step on the way to an array starts from."""
    function = expression.func if isinstance(expression, ast.Call) else expression
    return function.value if isinstance(function, ast.Attribute) and function.attr in _WAY else None


def _name(expression: ast.expr) -> str:
    function = expression.func if isinstance(expression, ast.Call) else expression
    return function.attr if isinstance(function, ast.Attribute) else ""


def _cut(code: Code, start: tuple[int, int], end: tuple[int, int], new: str = "") -> Edits:
    return (TextEdit(code.source.path, Span(*start, *end), new),) if start != end or new else ()


def _used(code: Code, value: ast.expr, tensor: ast.expr, depth: int) -> Edits | None:
    """The edits around a value that is a tensor now and was an array; None where they are not known."""
    parent = code.ancestors(value)[-1]
    if isinstance(parent, ast.BinOp | ast.UnaryOp):
        # An array on the other side would not do with a tensor.
        others = [one for one in ast.iter_child_nodes(parent) if isinstance(one, ast.expr) and one is not value]
        alone = all(isinstance(one, ast.Constant) for one in others)
        return _used(code, parent, parent, depth) if alone else None
    if isinstance(parent, ast.Attribute):
        called = code.ancestors(parent)[-1]
        if parent.attr == "backward":
            return ()
        if not isinstance(called, ast.Call) or called.func is not parent or called.keywords:
            return None
        return _used(code, called, called, depth) if parent.attr in _METHODS else None
    if isinstance(parent, ast.Call) and value in parent.args:
        dotted = meaning(code.tree, parent.func) or ""
        if dotted in _MAKERS and len(parent.args) == 1:
            return _unwrapped(code, parent, value, tensor)
        alone = len(parent.args) == 1 and not parent.keywords
        if dotted.startswith("numpy.") and dotted.removeprefix("numpy.") in _SAME and alone:
            new = spelling(code.tree, parent, f"torch.{dotted.removeprefix('numpy.')}")
            span = code.source.span_of(parent.func)
            renamed = _cut(code, span.start, span.end, new) if new else None
            return combine(renamed, _used(code, parent, parent, depth))
        # A function of torch takes it as a tensor; others may want an array.
        return () if dotted.startswith("torch.") else None
    if isinstance(parent, ast.Assign) and depth < 3:
        return _read(code, parent, value, depth)
    return None


def _unwrapped(code: Code, call: ast.Call, value: ast.expr, tensor: ast.expr) -> Edits | None:
    """Takes `torch.tensor(…, requires_grad=True)` off its first argument."""
    parent = code.ancestors(call)[-1]
    if isinstance(parent, ast.Assign) and same_expression(parent.targets[0], tensor):
        return remove_statement(code.source, code.tree, parent)
    brackets = isinstance(tensor, ast.BinOp | ast.UnaryOp) and not isinstance(parent, ast.Assign)
    outer, inner = code.source.span_of(call), code.source.span_of(value)
    before = _cut(code, outer.start, inner.start, "(" if brackets else "")
    return combine(before, _cut(code, inner.end, outer.end, ")" if brackets else ""))


def _read(code: Code, statement: ast.Assign, value: ast.expr, depth: int) -> Edits | None:
    """The edits where the variable is read that is assigned the value, up to where it is assigned again."""
    target = statement.targets[0]
    if len(statement.targets) != 1 or statement.value is not value or not isinstance(target, ast.Name):
        return None
    block = code.block(statement)
    region = code.function(statement) or code.tree
    names = [n for n in ast.walk(region) if isinstance(n, ast.Name) and n.id == target.id]
    last = statement.end_lineno or statement.lineno
    later = sorted((n for n in names if n.lineno > last), key=lambda n: (n.lineno, n.col_offset))
    again = next((n for n in later if isinstance(n.ctx, ast.Store)), None)
    end = None
    if again is not None:
        end = code.statement(again)
        if block is None or end not in block.statements:
            return None
    if _is_carried(code, statement, names):
        return None
    found: list[Edits | None] = []
    for read in later:
        if isinstance(read.ctx, ast.Load) and (end is None or read.lineno <= (end.end_lineno or end.lineno)):
            found.append(_used(code, read, read, depth + 1))
    return combine(*found)


def _is_carried(code: Code, statement: ast.stmt, names: list[ast.Name]) -> bool:
    """Whether the next pass of a loop reads, before the statement, what it assigned."""
    loops = code.loops(statement)
    if not loops:
        return False
    within = [n for n in names if loops[-1].lineno <= n.lineno < statement.lineno]
    return bool(within) and isinstance(min(within, key=lambda n: (n.lineno, n.col_offset)).ctx, ast.Load)
