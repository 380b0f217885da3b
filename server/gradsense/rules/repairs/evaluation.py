"""Runs code that nothing is walked from without a graph: `with torch.no_grad():`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.wrap import wrap_in
from gradsense.machine.events import GraphGrows
from gradsense.rules.editing import Code, Loop, code_of, safe, unsafe

Offer = Callable[[str, Edits | None], Iterator[Fix]]
# What trains, in the text of a loop.
_TRAINS = frozenset({"backward", "manual_backward", "grad", "step", "zero_grad", "training_step"})


def fixes_without_grad(event: GraphGrows) -> Iterator[Fix]:
    """Puts the loop, or the statement that builds the graph, under `no_grad`, where nothing of it is ever walked.

    It is unsafe where a caller that is not seen may get the outputs and walk them.
    """
    if event.walked:
        return
    offer = unsafe if event.short else safe
    if event.quiet:
        code = code_of(event.where)
        loop = code.statement(event.where.node)
        if isinstance(loop, ast.For | ast.While) and not _trains(loop):
            yield from _wrapped(code, loop, offer)
    place = event.evaluation
    if place is None:
        return
    code = code_of(place)
    statement = code.statement(place.node)
    if statement is None:
        return
    quiet = [loop for loop in code.loops(statement) if not _trains(loop)]
    if quiet and event.quiet:
        yield from _wrapped(code, quiet[-1], offer)
    if not hasattr(statement, "body"):
        edits = wrap_in(code.source, code.tree, [statement])
        yield from offer(f"Run line {statement.lineno} under `torch.no_grad()`", edits)


def _wrapped(code: Code, loop: Loop, offer: Offer) -> Iterator[Fix]:
    title = f"Run the loop on line {loop.lineno} under `torch.no_grad()`"
    yield from offer(title, wrap_in(code.source, code.tree, [loop]))


def _trains(loop: Loop) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in _TRAINS for node in ast.walk(loop))
