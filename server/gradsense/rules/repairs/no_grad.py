"""Puts a write that autograd should not see under `torch.no_grad()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_names import FUNCTIONS, stem
from gradsense.fixes.keywords import INPLACE_POSITION, callee_name
from gradsense.fixes.wrap import wrap_in
from gradsense.machine.place import Place
from gradsense.rules.editing import code_of, safe


def under_no_grad(place: Place, name: str) -> Iterator[Fix]:
    """Wraps the statement that writes, with the loops that do nothing else.

    Args:
        place: the write.
        name: what it writes to, in backticks.
    """
    code = code_of(place)
    statement = code.statement(place.node)
    while statement is not None:
        block = code.block(statement)
        if block is None or len(block.statements) > 1 or not isinstance(block.owner, ast.For) or block.owner.orelse:
            break
        statement = block.owner
    if statement is not None:
        yield from safe(f"Write {name} under `torch.no_grad()`", wrap_in(code.source, code.tree, [statement]))


def computes_with_graph(place: Place) -> bool:
    """Whether a write looks like a part of a forward pass, whose gradient is wanted, and not like an update by hand.

    It does in a `forward` that writes to a local name, and where the write is an activation.
    """
    code = code_of(place)
    found = code.twin(place.node)
    if isinstance(found, ast.Call) and (callee_name(found) in INPLACE_POSITION or stem(callee_name(found)) in FUNCTIONS):
        return True
    target = found.target if isinstance(found, ast.AugAssign) else None
    function = code.function(found) if found is not None else None
    return isinstance(target, ast.Name) and function is not None and function.name in _FORWARD


_FORWARD = frozenset({"forward", "encode", "decode", "training_step", "compute_loss"})
