"""Where a value that outlives its pass can be cut from its graph: at the store, or where it was handed over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradsense.fixes.detach import detach, detach_structure
from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.scalarise import scalarise
from gradsense.fixes.tree import FunctionNode, scope_of, stored_names
from gradsense.fixes.values import is_cut
from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.place import Place
from gradsense.machine.values import DictValue, ListValue, Value
from gradsense.rules.editing import Code, code_of
from gradsense.rules.wording import quoted

_WALKS = frozenset({"backward", "grad", "manual_backward", "scale"})
# How far below a kept tensor its parts are looked for.
_DEPTH = 60


@dataclass(frozen=True, eq=False)
class Spot:
    """An expression whose value is kept with its graph.

    Args:
        code: its file.
        expression: the expression.
        kinds: the structure of its value, outermost first, as `detach_structure` takes it; empty for a tensor.
        callee: the name of the function that is given it, where the expression is an argument of a call.
        narrowed: it is the one of several arguments that has the graph.
    """

    code: Code
    expression: ast.expr
    kinds: tuple[str, ...] = ()
    callee: str = ""
    narrowed: bool = False

    @property
    def text(self) -> str:
        """The expression in backticks, on one line."""
        return quoted(self.code.text(self.expression))

    def detached(self) -> Edits | None:
        """The edits that detach it."""
        if self.kinds:
            return detach_structure(self.code.source, self.code.tree, self.expression, self.kinds)
        return detach(self.code.source, self.code.tree, self.expression)

    def as_number(self) -> Edits | None:
        """The edits that turn it into a number."""
        return None if self.kinds else scalarise(self.code.source, self.code.tree, self.expression)


def spots(event: GraphGrows) -> list[Spot]:
    """What to cut so that nothing of a pass's graph stays, each expression once."""
    found: dict[ast.expr, Spot] = {}
    for tensor in event.kept or (() if event.value is None else (event.value,)):
        store = _store_of(event, tensor)
        if store is None or store.value is None:
            continue
        code = code_of(store.place)
        value = code.expression(store.value)
        for part in carriers(code, value, tensor) if value is not None else ():
            spot = _handed_over(Spot(code, part, _structure(store, value, part)), store.place, tensor)
            if isinstance(part, ast.BinOp | ast.UnaryOp):
                spot = as_given(spot, store.place, names_below(tensor))
            holder = part is value and isinstance(store.what, tuple | ListValue | DictValue)
            for one in _shown(spot, tensor) if holder and not spot.kinds and not spot.narrowed else [spot]:
                if one.callee or not _is_captured(code, part):
                    found.setdefault(one.expression, one)
    return list(found.values())


def detached(found: list[Spot]) -> Edits | None:
    """The edits that detach all spots."""
    return combine(*(spot.detached() for spot in found)) if found else None


def as_numbers(found: list[Spot]) -> Edits | None:
    """The edits that turn all spots into numbers."""
    return combine(*(spot.as_number() for spot in found)) if found else None


def listed(found: list[Spot]) -> str:
    """The spots' texts, for a title."""
    texts = list(dict.fromkeys(spot.text for spot in found))
    return " and ".join(texts) if len(texts) < 3 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def argument_of(code: Code, name: ast.Name, place: Place) -> Spot | None:
    """The argument that gave a parameter its value, where nothing else in the function needs the graph.

    Args:
        code: the file of the function.
        name: the parameter, as the function reads it.
        place: where that was, with the calls that led to it.
    """
    function = code.function(name)
    if function is None or not place.stack or name.id in _bound_in(function) or _needs_graph(function, name.id):
        return None
    call_place = place.stack[-1]
    calling = code_of(call_place)
    call = calling.expression(call_place.node)
    if not isinstance(call, ast.Call) or not _calls(call, function):
        return None
    argument = _argument(code, function, call, name.id)
    return None if argument is None else Spot(calling, argument, callee=callee_name(call))


def as_given(spot: Spot, place: Place, names: set[str]) -> Spot:
    """The argument of the call that gave a function the one tensor that a term is computed from, or the spot itself.

    Args:
        spot: the term, such as `value * n`.
        place: where it is stored, with the calls that led there.
        names: the names of tensors with a graph.
    """
    read = [node for node in ast.walk(spot.expression) if isinstance(node, ast.Name) and node.id in names]
    given = [one for one in (argument_of(spot.code, name, place) for name in read) if one is not None]
    given = [one for one in given if not is_cut(one.expression)]
    return given[0] if len(given) == 1 and len(read) == 1 else spot


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


def _shown(spot: Spot, tensor: Tensor) -> list[Spot]:
    """The parts of the only display that a variable of mixed things is assigned."""
    if not isinstance(spot.expression, ast.Name):
        return list(_inside(spot, tensor))
    scope = scope_of(spot.code.tree, spot.expression)
    assigned = [
        node.value
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == spot.expression.id for target in node.targets)
    ]
    return list(_inside(Spot(spot.code, assigned[0]), tensor)) if len(assigned) == 1 else []


def _inside(spot: Spot, tensor: Tensor) -> Iterator[Spot]:
    if _parts(spot.expression) is not None:
        for part in carriers(spot.code, spot.expression, tensor):
            yield Spot(spot.code, part)


def _store_of(event: GraphGrows, tensor: Tensor) -> Store | None:
    own = event.store
    if isinstance(own.value, ast.Name) and own.value.id in tensor.names():
        return own
    for store in reversed(tensor.stores):
        same = store.container is own.container and store.kind == own.kind
        if same and (own.kind == "item" or store.name == own.name):
            return store
    if _holds(own.what, tensor):
        return own
    inner = [store for store in tensor.stores if store.kind != "name" and store.order <= own.order]
    return inner[-1] if inner else own


def _holds(value: Value, tensor: Tensor, depth: int = 0) -> bool:
    if value is tensor:
        return True
    parts: list[Value] = []
    if isinstance(value, tuple):
        parts = list(value)
    elif isinstance(value, ListValue):
        parts = value.items
    elif isinstance(value, DictValue):
        parts = list(value.items.values())
    return depth < 4 and any(_holds(part, tensor, depth + 1) for part in parts)


def carriers(code: Code, value: ast.expr, tensor: Tensor, *, sure: bool = True) -> Iterator[ast.expr]:
    """The parts of a value through which a tensor comes into it; displays are looked into.

    Args:
        sure: whether the tensor is surely in the value, so that a value that is no display is a part by itself.
    """
    parts = _parts(value)
    if parts is None:
        if sure or _carries(code, value, tensor):
            yield value
        return
    for part in parts:
        if _carries(code, part, tensor):
            yield from carriers(code, part, tensor)


def _parts(value: ast.expr) -> list[ast.expr] | None:
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


def _is_captured(code: Code, part: ast.expr) -> bool:
    """Whether a name is read in a lambda's body, where detaching it would still keep the variable."""
    around = code.ancestors(part)
    return any(isinstance(one, ast.Lambda) and part in set(ast.walk(one.body)) for one in around)


def _carries(code: Code, part: ast.expr, tensor: Tensor) -> bool:
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


def _structure(store: Store, value: ast.expr | None, part: ast.expr) -> tuple[str, ...]:
    return structure(store.what) if part is value else ()


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


def _handed_over(spot: Spot, place: Place, tensor: Tensor) -> Spot:
    """The argument of the outermost call that passed the value on unchanged, or the spot itself."""
    for _ in range(4):
        name = spot.expression
        if not isinstance(name, ast.Name):
            break
        outer = argument_of(spot.code, name, place)
        if outer is None:
            break
        function = spot.code.function(name)
        if isinstance(outer.expression, ast.Tuple) or (function is not None and _is_rest(function, name.id)):
            parts = [part for part in _rest(outer.expression) if _carries(outer.code, part, tensor)]
            if len(parts) != 1:
                break
            spot = Spot(outer.code, parts[0], callee=outer.callee, narrowed=True)
        else:
            spot = Spot(outer.code, outer.expression, spot.kinds, outer.callee)
        place = place.stack[-1]
    return spot


def _rest(expression: ast.expr) -> list[ast.expr]:
    return expression.elts if isinstance(expression, ast.Tuple) else [expression]


def _is_rest(function: FunctionNode, name: str) -> bool:
    return function.args.vararg is not None and function.args.vararg.arg == name


def _bound_in(function: FunctionNode) -> set[str]:
    return set().union(*(stored_names(statement) for statement in function.body))


def _needs_graph(function: FunctionNode, name: str) -> bool:
    """Whether a function walks, returns or computes a loss with what it was given."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and callee_name(node) in _WALKS:
            return True
        returned = node.value if isinstance(node, ast.Return) else None
        if returned is not None and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(returned)):
            return True
    return False


def _calls(call: ast.Call, function: FunctionNode) -> bool:
    return function.name != "forward" and (
        callee_name(call) == function.name or function.name in {"__init__", "__call__"}
    )


def _argument(code: Code, function: FunctionNode, call: ast.Call, name: str) -> ast.expr | None:
    """The argument of a call for a parameter; for `*args`, a tuple of all that goes there."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if given is not None:
        return given
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    around = code.ancestors(function)
    if around and isinstance(around[-1], ast.ClassDef) and parameters and parameters[0] in {"self", "cls"}:
        parameters = parameters[1:]
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if name in parameters:
        position = parameters.index(name)
        return call.args[position] if position < len(call.args) else None
    if _is_rest(function, name):
        return ast.Tuple(call.args[len(parameters) :], ast.Load())
    return None
