"""Puts a forward, a step and a walk in an order in which no weight changes under a graph that is still to be walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.move import move_after, move_before, move_group_after
from gradsense.fixes.tree import loaded_names, stored_names
from gradsense.machine.graph import Node, Walk, Write
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, unsafe
from gradsense.rules.repairs.rewalking import seen_from


def reorder(node: Node, write: Write, walk: Walk) -> Iterator[Fix]:
    """Computes the forward after the write, or writes after the walk.

    Args:
        node: the operation that saved what is written.
        write: the step or other write.
        walk: the walk that comes too late.
    """
    depth = _shared_depth(node.place, write.place, walk.place)
    forward, step, late = (seen_from(place, depth) for place in (node.place, write.place, walk.place))
    code = code_of(late)
    if not forward.source is step.source is late.source:
        return
    found = [_in_block(code, place, late) for place in (forward, step, late)]
    made, stepped, walked = found
    if stepped is None or walked is None or stepped is walked:
        return
    if made is not None and write.kind in ("step", "fused") and made is not stepped:
        group = _dependents(code, made, stepped)
        edits = move_group_after(code.source, code.tree, group, stepped)
        yield from unsafe(f"Compute the forward on line {made.lineno} after the step", edits)
    what = "Step" if write.kind in ("step", "fused") else "Write"
    edits = move_after(code.source, code.tree, stepped, walked)
    yield from unsafe(f"{what} after the walk on line {walked.lineno}", edits)
    edits = move_before(code.source, code.tree, walked, stepped)
    yield from unsafe(f"Walk before the {what.lower()} on line {stepped.lineno}", edits)


def _shared_depth(*places: Place) -> int:
    """How many calls all places were reached by."""
    depth = 0
    for calls in zip(*(place.stack for place in places), strict=False):
        if any(call.node is not calls[0].node for call in calls):
            break
        depth += 1
    return depth


def _in_block(code: Code, place: Place, late: Place) -> ast.stmt | None:
    """The statement of the walk's block that holds a place: a loop, say, that a write stands in."""
    statement, walked = code.statement(place.node), code.statement(late.node)
    block = code.block(walked) if walked is not None else None
    if statement is None or block is None:
        return None
    around = {id(one) for one in (*code.ancestors(statement), statement)}
    return next((one for one in block.statements if id(one) in around), None)


def _dependents(code: Code, made: ast.stmt, stepped: ast.stmt) -> list[ast.stmt]:
    """A statement and those up to the step that compute with what it binds."""
    block = code.block(made)
    group = [made]
    bound = stored_names(made)
    for statement in block.statements[block.index + 1 :] if block is not None else []:
        if statement is stepped:
            break
        if isinstance(statement, ast.Assign | ast.AnnAssign) and loaded_names(statement) & bound:
            group.append(statement)
            bound |= stored_names(statement)
    return group
