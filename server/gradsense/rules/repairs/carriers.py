"""Through which part of an expression a tensor comes into its value, and what that value is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.machine.graph import Tensor
from gradsense.machine.place import Place
from gradsense.machine.values import DictValue, ListValue, Value
from gradsense.rules.editing import Code

# How far below a tensor the names of its parts are looked for.
_DEPTH = 60


def carriers(
    code: Code, value: ast.expr, tensor: Tensor, *, sure: bool = True, what: Value = None
) -> Iterator[ast.expr]:
    """The parts of a value through which a tensor comes into it; displays are looked into.

    Args:
        sure: whether the tensor is surely in the value, so that a value that is no display is a part by itself.
        what: what the value was, where that is known: it tells which part of a display the tensor is in.
    """
    known = _parts_that_hold(value, what, tensor)
    if known:
        for part, held in known:
            yield from carriers(code, part, tensor, what=held)
        return
    parts = parts_of(value)
    if parts is None:
        if sure or carries(code, value, tensor):
            yield value
        return
    for part in parts:
        if carries(code, part, tensor):
            yield from carriers(code, part, tensor)


def _parts_that_hold(value: ast.expr, what: Value, tensor: Tensor) -> list[tuple[ast.expr, Value]]:
    """The parts of a tuple or list display that hold a tensor, each with what it was."""
    if not isinstance(value, ast.Tuple | ast.List) or not isinstance(what, tuple | ListValue):
        return []
    items = what.items if isinstance(what, ListValue) else list(what)
    if len(items) != len(value.elts) or any(isinstance(one, ast.Starred) for one in value.elts):
        return []
    return [(part, item) for part, item in zip(value.elts, items, strict=True) if holds(item, tensor)]


def parts_of(value: ast.expr) -> list[ast.expr] | None:
    """The elements of a display, or the branches of a conditional; None for an expression that is one value."""
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return value.elts
    if isinstance(value, ast.Dict):
        return value.values
    if isinstance(value, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return [value.elt]
    if isinstance(value, ast.DictComp):
        return [value.value]
    if isinstance(value, ast.IfExp):
        return [value.body, value.orelse]
    if isinstance(value, ast.Starred | ast.NamedExpr):
        return [value.value]
    if isinstance(value, ast.Lambda):
        defaults = [one for one in (*value.args.defaults, *value.args.kw_defaults) if one is not None]
        return [*defaults, *(node for node in ast.walk(value.body) if isinstance(node, ast.Name))]
    if isinstance(value, ast.BinOp) and isinstance(value.right, ast.List | ast.Tuple):
        return [value.right]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"dict", "list", "tuple"}:
        return [*value.args, *(keyword.value for keyword in value.keywords)]
    return None


def is_captured(code: Code, part: ast.expr) -> bool:
    """Whether a name is read in a lambda's body, where detaching it would still keep the variable."""
    around = code.ancestors(part)
    return any(isinstance(one, ast.Lambda) and part in set(ast.walk(one.body)) for one in around)


def carries(code: Code, part: ast.expr, tensor: Tensor) -> bool:
    inside = set(ast.walk(part))
    if any(code.twin(place.node) in inside for place in (tensor.made, *tensor.made.stack) if _same_file(place, code)):
        return True
    node = tensor.node
    if node is not None and _same_file(node.place, code) and code.twin(node.place.node) in inside:
        return True
    names = set(tensor.names())
    return any(code.text(one) in names for one in inside if isinstance(one, ast.Name | ast.Attribute | ast.Subscript))


def _same_file(place: Place, code: Code) -> bool:
    return place.source is code.source


def structure(value: Value) -> tuple[str, ...]:
    """What a tuple, list or dict of tensors is, outermost first; empty for anything else."""
    kinds: list[str] = []
    while isinstance(value, tuple | ListValue | DictValue) and len(kinds) < 4:
        if isinstance(value, tuple):
            kind, parts = "tuple", list(value)
        elif isinstance(value, ListValue):
            kind, parts = "list", value.items
        else:
            kind, parts = "dict", list(value.items.values())
        if not parts or not all(type(part) is type(parts[0]) for part in parts):
            return ()
        kinds.append(kind)
        value = parts[0]
    return tuple(kinds) if isinstance(value, Tensor) else ()


def holds(value: Value, tensor: Tensor, depth: int = 0) -> bool:
    if value is tensor:
        return True
    parts: list[Value] = []
    if isinstance(value, tuple):
        parts = list(value)
    elif isinstance(value, ListValue):
        parts = value.items
    elif isinstance(value, DictValue):
        parts = list(value.items.values())
    return depth < 4 and any(holds(part, tensor, depth + 1) for part in parts)


def names_below(tensor: Tensor) -> set[str]:
    """The names of a tensor and of those that it was computed from, the nearest ones."""
    names = set(tensor.names())
    pending = [tensor.node] if tensor.node is not None else []
    seen = 0
    while pending and seen < _DEPTH:
        node = pending.pop(0)
        seen += 1
        if node.output is not None and not node.output.parameter:
            names |= set(node.output.names())
        pending += node.parents
    return names
