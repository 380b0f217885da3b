"""Checkpoints of the other kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.keywords import set_keyword
from gradsense.machine.place import Place
from gradsense.rules.editing import code_of


def other_checkpoint(place: Place, offer: Callable[[str, Edits | None], Iterator[Fix]]) -> Iterator[Fix]:
    """`use_reentrant=False`.

    Args:
        place: the call of `checkpoint`.
        offer: `safe` or `unsafe`.
    """
    code = code_of(place)
    call = code.expression(place.node)
    if isinstance(call, ast.Call):
        edits = set_keyword(code.source, code.tree, call, "use_reentrant", "False")
        yield from offer("Use the other kind of checkpoint: `use_reentrant=False`", edits)
