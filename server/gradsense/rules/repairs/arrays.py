"""Detaches what numpy is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import callee_name
from gradsense.machine.events import NumpyOfGraph
from gradsense.rules.editing import Code, code_of, safe
from gradsense.rules.repairs.carriers import carriers
from gradsense.rules.wording import quoted

# Methods that a person writes between the tensor and `.numpy()`; the graph is best cut before them.
_BETWEEN = frozenset({
    "contiguous", "cpu", "double", "flatten", "float", "half", "permute", "reshape", "squeeze", "t", "to", "transpose",
    "unsqueeze", "view",
})  # fmt: skip


def detached_array(event: NumpyOfGraph) -> Iterator[Fix]:
    """Detaches a tensor where an array is made of it, or where it was put into the list that becomes the array."""
    store = next((store for store in reversed(event.tensor.stores) if store.place.key == event.spot.key), None)
    if event.spot.key != event.place.key and store is not None and store.value is not None:
        code = code_of(store.place)
        value = code.expression(store.value)
        parts = list(carriers(code, value, event.tensor)) if value is not None else []
    else:
        code = code_of(event.place)
        parts = _given(code, code.expression(event.place.node), event)
    if parts:
        shown = quoted(code.text(parts[0]))
        yield from safe(f"Detach {shown}: `.detach()`", detach(code.source, code.tree, *parts))


def _given(code: Code, call: ast.expr | None, event: NumpyOfGraph) -> list[ast.expr]:
    if not isinstance(call, ast.Call):
        return []
    if callee_name(call) in {"numpy", "__array__"} and isinstance(call.func, ast.Attribute):
        return [_before_moves(call.func.value)]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = [part for one in given for part in carriers(code, one, event.tensor, sure=False)]
    return found or given[:1]


def _before_moves(expression: ast.expr) -> ast.expr:
    while isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        if expression.func.attr not in _BETWEEN:
            break
        expression = expression.func.value
    return expression
