"""Detaches what one player's loss should see as data only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Fix
from gradsense.machine.graph import Tensor, Walk
from gradsense.machine.place import Place
from gradsense.rules.editing import code_of, safe
from gradsense.rules.repairs.copies import named_operands
from gradsense.rules.wording import quoted


def detach_argument(use: Place, walk: Walk, held: Tensor | None) -> Iterator[Fix]:
    """Detaches the argument of the call that belongs to the other player's loss: `netD(fake)`.

    The call is taken in the function that walks where it can be: what both losses go through stays as it is.

    Args:
        use: the operation that took the tensor in.
        walk: the walk of that player's loss.
        held: the tensor; None where it is not known, and the call's only argument is taken.
    """
    depth = sum(1 for a, b in zip(use.stack, walk.place.stack, strict=False) if a.node is b.node)
    for place in (*use.stack[depth:], use):
        code = code_of(place)
        call = code.expression(place.node)
        if call is None:
            continue
        names = set(held.names()) if held is not None else set()
        parts = named_operands(code, call, names)
        if held is None and isinstance(call, ast.Call) and len(call.args) == 1:
            parts = [call.args[0]]
        if parts:
            text = quoted(code.text(call))
            yield from safe(f"Detach `{code.text(parts[0])}` in {text}", detach(code.source, code.tree, *parts))
            return
