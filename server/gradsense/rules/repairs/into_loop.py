"""Moves what is computed once, before a loop, into the loop whose passes walk it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradsense.fixes.fix import Fix
from gradsense.fixes.move import move_into_loop
from gradsense.fixes.tree import Block, loaded_names, stored_names
from gradsense.machine.graph import Node, Store, Tensor, Walk
from gradsense.machine.graph_search import reachable
from gradsense.machine.place import carried_from
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.aliases import frame_of
from gradsense.rules.repairs.carriers import carriers, structure
from gradsense.rules.repairs.cutting import still_learns
from gradsense.rules.repairs.spot import Spot


def compute_each_pass(held: Tensor | None, stores: Sequence[Store], walk: Walk) -> Iterator[Fix]:
    """Moves the statements that make a value into the innermost loop around the walk."""
    for store in reversed(stores):
        if store.kind != "name":
            continue
        frame = frame_of(store.place, walk.place)
        code = code_of(store.place)
        made, walked = code.statement(store.place.node), code.statement(frame.node) if frame is not None else None
        if made is None or walked is None:
            continue
        loop = next((loop for loop in code.loops(walked) if loop not in code.loops(made)), None)
        block = code.block(made)
        if loop is None or block is None:
            continue
        group = with_its_makers(code, block, made, held.node if held is not None else None, loop)
        edits = move_into_loop(code.source, code.tree, group, loop) if group else None
        yield from safe(f"Compute `{store.name}` inside the loop", edits)
        return


def treat_as_constant(held: Tensor | None, stores: Sequence[Store], walk: Walk) -> Iterator[Fix]:
    """Detaches the value where it is put before the loop, so that no gradient flows to what it was computed from."""
    if held is None or not still_learns(walk, held, alike=True):
        return
    for store in reversed(stores):
        code = code_of(store.place)
        value = code.expression(store.value)
        if value is None or not carried_from(store.epoch, walk.epoch) or not _runs_once(code, store, walk):
            continue
        parts = list(carriers(code, value, held))
        if not parts and isinstance(value, ast.ListComp | ast.GeneratorExp):
            parts = [value.elt]
        for part in parts:
            spot = Spot(code, part, structure(store.what) if part is value else ())
            yield from unsafe(f"Take {spot.text} as a constant: `.detach()`", spot.detached())
        if parts:
            return


def _runs_once(code: Code, store: Store, walk: Walk) -> bool:
    """Whether a store is in a function that is still running, or in a constructor: no pass of the loop comes there."""
    if frame_of(store.place, walk.place) is not None:
        return True
    node = code.twin(store.place.node)
    function = code.function(node) if node is not None else None
    return function is None or function.name == "__init__"


def with_its_makers(code: Code, block: Block, made: ast.stmt, node: Node | None, end: ast.stmt) -> list[ast.stmt]:
    """The statements up to `end` that the value's graph was built by, and what depends on them.

    Returns:
        Nothing where some of it was built by more than assignments, such as by a call whose hook kept the value.
    """
    # What makes a parameter or a module stays where it is.
    nodes = [n for n in reachable([node]) if n.accumulates is None]
    places = [place for n in nodes for place in (n.place, *n.place.stack)]
    built = {id(code.twin(place.node)) for place in places if place.source is code.source}
    found: list[ast.stmt] = []
    bound: set[str] = set()
    for statement in block.statements:
        if statement is end or any(child is end for child in ast.walk(statement)):
            break
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        builds = _contains(statement, built)
        if statement is made or builds or loaded_names(statement) & bound:
            if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
                if builds:
                    return []
                continue
            found.append(statement)
            bound |= stored_names(statement)
    inside = {id(child) for statement in found for child in ast.walk(statement)}
    for one in nodes:
        own = [place for place in (one.place, *one.place.stack) if place.source is code.source]
        if one.raises_when_walked_twice and not any(id(code.twin(place.node)) in inside for place in own):
            # What it was computed from would be walked in every pass still.
            return []
    return found if any(_contains(statement, built) for statement in found) else []


def _contains(statement: ast.stmt, nodes: set[int]) -> bool:
    return any(id(child) in nodes for child in ast.walk(statement))
