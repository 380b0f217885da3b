"""Runs code that nothing is walked from without a graph: `with torch.no_grad():`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.tree import FunctionNode
from gradsense.fixes.wrap import decorate, wrap_in
from gradsense.machine.events import GraphGrows
from gradsense.machine.place import Place
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
    yield from statement_without_grad(place, offer)


def statement_without_grad(
    place: Place, offer: Offer, needed: Collection[tuple[str, int]] = frozenset()
) -> Iterator[Fix]:
    """Puts the statement at a place under `no_grad`, where it is no block.

    Args:
        place: the call that builds the graph.
        offer: how far the fix may be trusted.
        needed: lines, by file, on which something is made that needs its graph: the statement must not have one.
    """
    code = code_of(place)
    statement = code.statement(place.node)
    if statement is None:
        return
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    if not hasattr(statement, "body") and not any((place.path, line) in needed for line in lines):
        edits = wrap_in(code.source, code.tree, [statement])
        yield from offer(f"Run line {statement.lineno} under `torch.no_grad()`", edits)


def function_without_grad(place: Place) -> Iterator[Fix]:
    """Puts `@torch.no_grad()` on the function around a place, where nothing in it trains."""
    code, function = code_of(place), quiet_function(place)
    if function is not None:
        edits = decorate(code.source, code.tree, function)
        yield from unsafe(f"Run all of `{function.name}` under `torch.no_grad()`", edits)


def quiet_function(place: Place) -> FunctionNode | None:
    """The function around a place, if nothing in it trains and it is no network's own."""
    code = code_of(place)
    found = code.twin(place.node)
    function = code.function(found) if found is not None else None
    return None if function is None or function.name == "forward" or _trains(function) else function


def _wrapped(code: Code, loop: Loop, offer: Offer) -> Iterator[Fix]:
    title = f"Run the loop on line {loop.lineno} under `torch.no_grad()`"
    yield from offer(title, wrap_in(code.source, code.tree, [loop]))


def _trains(region: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in _TRAINS for node in ast.walk(region))
