"""Puts a forward, a step and a walk in an order in which no weight changes under a graph that is still to be walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.move import move_after, move_before, move_group_after
from gradsense.fixes.tree import loaded_names, stored_names
from gradsense.machine.graph import Node, Saved, Walk, Write
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, unsafe
from gradsense.rules.repairs.rewalking import meet, seen_from

_STEPS = ("step", "fused")


def reorder(node: Node, saved: Saved, write: Write, walk: Walk) -> Iterator[Fix]:
    """Computes the forward after the write, or writes after the walk.

    Args:
        node: the operation that saved what is written.
        saved: what it saved.
        write: the step or other write.
        walk: the walk that comes too late.
    """
    later = list(_write_later(write, walk))
    forward = list(_forward_later(node, write, walk)) if write.kind in _STEPS else []
    yield from (*forward, *later) if _trained_between(node, saved, write) else (*later, *forward)


def _forward_later(node: Node, write: Write, walk: Walk) -> Iterator[Fix]:
    depth = _shared_depth(node.place, write.place, walk.place)
    forward, step, late = (seen_from(place, depth) for place in (node.place, write.place, walk.place))
    code = code_of(late)
    if not forward.source is step.source is late.source:
        return
    made, stepped = _in_block(code, forward, late), _in_block(code, step, late)
    if made is None or stepped is None or made is stepped:
        return
    edits = move_group_after(code.source, code.tree, _dependents(code, made, stepped), stepped)
    yield from unsafe(f"Compute the forward on line {made.lineno} after the step: with the new weights", edits)


def _write_later(write: Write, walk: Walk) -> Iterator[Fix]:
    step, late = meet(write.place, walk.place)
    code = code_of(late)
    stepped, walked = _in_block(code, step, late), code.statement(late.node)
    if step.source is not late.source or stepped is None or walked is None or stepped is walked:
        return
    what = "Step" if write.kind in _STEPS else "Write"
    # A scaler steps once between two of its updates.
    scaled = isinstance(stepped, ast.Expr) and isinstance(stepped.value, ast.Call) and bool(stepped.value.args)
    edits = None if scaled and write.kind in _STEPS else move_after(code.source, code.tree, stepped, walked)
    effect = ": its gradients count in this step too" if what == "Step" else ": until then the old values are read"
    yield from unsafe(f"{what} after the walk on line {walked.lineno}{effect}", edits)
    edits = None if _zeroes_between(code, stepped, walked) else move_before(code.source, code.tree, walked, stepped)
    effect = ": its gradients count in that step too" if what == "Step" else ""
    yield from unsafe(f"Walk before the {what.lower()} on line {stepped.lineno}{effect}", edits)


def _zeroes_between(code: Code, stepped: ast.stmt, walked: ast.stmt) -> bool:
    block = code.block(walked)
    between = block.statements[block.statements.index(stepped) : block.index] if block is not None else []
    return any(
        isinstance(node, ast.Attribute) and node.attr == "zero_grad" for one in between for node in ast.walk(one)
    )


def _trained_between(node: Node, saved: Saved, write: Write) -> bool:
    """Whether the step uses a gradient that was made after the operation: then the step is in its place."""
    tensor = saved.tensor
    leaves = [leaf for leaf in (tensor, tensor.base) if leaf is not None]
    walks = [c.walk for leaf in leaves for c in (*leaf.contributions, *leaf.spent)]
    return any(node.order < walk.order < write.order for walk in walks)


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
