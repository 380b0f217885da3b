"""Where a value that outlives its pass can be cut from its graph: at the store, or where it was handed over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.tree import scope_of
from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.values import DictValue, ListValue
from gradsense.rules.editing import code_of
from gradsense.rules.repairs.carriers import carriers, holds, is_captured, names_below, parts_of, structure
from gradsense.rules.repairs.handing import as_given, handed_over
from gradsense.rules.repairs.spot import Spot


def spots(event: GraphGrows) -> list[Spot]:
    """What to cut so that nothing of a pass's graph stays, each expression once."""
    found: dict[ast.expr, Spot] = {}
    for tensor in event.kept or (() if event.value is None else (event.value,)):
        store = _store_of(event, tensor)
        if store is None or store.value is None:
            continue
        code = code_of(store.place)
        value = code.expression(store.value)
        for part in carriers(code, value, tensor, what=store.what) if value is not None else ():
            spot = handed_over(Spot(code, part, structure(store.what) if part is value else ()), store.place, tensor)
            if isinstance(part, ast.BinOp | ast.UnaryOp):
                spot = as_given(spot, store.place, names_below(tensor))
            holder = part is value and isinstance(store.what, tuple | ListValue | DictValue)
            for one in _shown(spot, tensor) if holder and not spot.kinds and not spot.narrowed else [spot]:
                if one.callee or not is_captured(code, part):
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
    if parts_of(spot.expression) is not None:
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
    if holds(own.what, tensor):
        return own
    inner = [store for store in tensor.stores if store.kind != "name" and store.order <= own.order]
    return inner[-1] if inner else own
