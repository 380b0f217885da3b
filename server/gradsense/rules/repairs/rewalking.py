"""Walks that meet: keep the graph for the second, walk the sum once, or take one of them out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import callee_name, set_keyword
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.move import move_before
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.sum_losses import sum_losses
from gradsense.machine.graph import Node, Walk
from gradsense.machine.graph_search import reachable
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.walks import walk_position
from gradsense.syntax.edits import TextEdit

_WALKS = frozenset({"backward", "manual_backward"})


def keep_graph(walk: Walk, *, alters: bool = False) -> Iterator[Fix]:
    """Passes `retain_graph=True` to a walk, or to the call that hands its keywords on to it.

    Args:
        walk: the walk.
        alters: whether what the program computes with it is in doubt.
    """
    offer = unsafe if alters else safe
    for place in (walk.place, *reversed(walk.place.stack)):
        code = code_of(place)
        call = code.expression(place.node)
        if not isinstance(call, ast.Call):
            return
        position = walk_position(code, call, "retain_graph")
        edits = set_keyword(code.source, code.tree, call, "retain_graph", "True", position)
        if edits is not None:
            yield from offer(f"Keep the graph on line {place.line}: `retain_graph=True`", edits)
            return
        if not any(keyword.arg is None for keyword in call.keywords):
            return


def torn(meeting: Node) -> bool:
    """Whether something that the shared part saved was written since: kept or not, it cannot be walked again."""
    return any(saved.storage.version > saved.version for node in reachable([meeting]) for saved in node.saved)


def walk_once(first: Walk, second: Walk) -> Iterator[Fix]:
    """Walks the sum of the losses: of the statements from the first walk to the second, or of those in a loop."""
    frame, other = meet(first.place, second.place)
    code = code_of(other)
    start, end = code.statement(frame.node), code.statement(other.node)
    if start is None or end is None or frame.source is not other.source:
        return
    if start is end:
        yield from _sum_of_loop(code, end)
        return
    block = code.block(end)
    if block is None or not any(statement is start for statement in block.statements):
        return
    index = next(i for i, statement in enumerate(block.statements) if statement is start)
    walks = [statement for statement in block.statements[index : block.index + 1] if _is_walk(statement)]
    if len(walks) > 1:
        yield from safe("Walk the sum of the losses once", sum_losses(code.source, code.tree, walks))


def take_out(walk: Walk) -> Iterator[Fix]:
    """Removes the statement that walks."""
    code = code_of(walk.place)
    statement = code.statement(walk.place.node)
    if statement is not None and _is_walk(statement):
        edits = remove_statement(code.source, code.tree, statement)
        yield from safe(f"Remove the walk on line {statement.lineno}", edits)


def read_first(read: Place, walk: Walk) -> Iterator[Fix]:
    """Moves the statement that reads a graph to right before the walk that frees it."""
    reading, walking = meet(read, walk.place)
    code = code_of(walking)
    reader, walked = code.statement(reading.node), code.statement(walking.node)
    if reader is not None and walked is not None and reading.source is walking.source and reader is not walked:
        edits = move_before(code.source, code.tree, reader, walked)
        yield from safe(f"Read the graph before the walk on line {walked.lineno}", edits)


def zeroed_between(first: Walk, second: Walk) -> bool:
    """Whether gradients are zeroed after the first walk and before the second, in the block of the second."""
    code = code_of(second.place)
    statement = code.statement(second.place.node)
    block = code.block(statement) if statement is not None else None
    if block is None:
        return False
    earlier, _ = meet(first.place, second.place)
    start = code.statement(earlier.node) if earlier.source is code.source else None
    begin = next((i + 1 for i, one in enumerate(block.statements) if one is start), 0)
    between = block.statements[begin : block.index]
    return any(_mentions_attribute(one, "zero_grad") for one in between)


def compute_again(first: Walk, walk: Walk) -> Iterator[Fix]:
    """Computes a loss anew where it is walked again: the parameters have moved since.

    None is offered where computing it is what walked it first.
    """
    root = walk.root
    code = code_of(walk.place)
    call = code.expression(walk.place.node)
    loss = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    if root is None or not isinstance(loss, ast.Name) or not isinstance(call, ast.Call) or call.args:
        return
    for store in reversed(root.stores):
        value = code.expression(store.value) if store.place.source is code.source else None
        earlier, _ = meet(first.place, store.place)
        if value is not None and _within(code.twin(earlier.node), value):
            return
        if store.name == loss.id and value is not None and code.function(value) is code.function(loss):
            text = code.text(value)
            new = text if isinstance(value, ast.Call) else f"({text})"
            edits = replace_expression(code.source, code.tree, loss, new)
            yield from unsafe(f"Compute `{loss.id}` again on line {loss.lineno}", edits)
            return


def _within(node: ast.AST | None, around: ast.AST) -> bool:
    return any(child is node for child in ast.walk(around))


def _mentions_attribute(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(statement))


def meet(one: Place, other: Place) -> tuple[Place, Place]:
    """Two places as they are seen from the deepest function that both were reached from."""
    depth = 0
    for a, b in zip(one.stack, other.stack, strict=False):
        if a.node is not b.node:
            break
        depth += 1
    return seen_from(one, depth), seen_from(other, depth)


def seen_from(place: Place, depth: int) -> Place:
    """The call at a depth of the stack that led to a place, or the place itself."""
    return place.stack[depth] if len(place.stack) > depth else place


def _sum_of_loop(code: Code, statement: ast.stmt) -> Iterator[Fix]:
    """`for loss in losses: loss.backward()` as `sum(losses).backward()`."""
    block = code.block(statement)
    loop = block.owner if block is not None and len(block.statements) == 1 else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(loop, ast.For) or loop.orelse or not isinstance(call, ast.Call) or call.args or call.keywords:
        return
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return
    receiver, target = call.func.value, loop.target
    if isinstance(receiver, ast.Name) and isinstance(target, ast.Name) and receiver.id == target.id:
        summed = f"sum({code.text(loop.iter)}).backward()"
        edit = TextEdit(code.source.path, code.source.span_of(loop), summed)
        yield from safe("Walk the sum of the losses once", (edit,))


def _is_walk(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and callee_name(call) in _WALKS
