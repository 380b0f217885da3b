"""Zeroes gradients where each step needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix, combine
from gradsense.fixes.insert import insert_after, insert_zero_grad
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.remove import remove_statement
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, unsafe

_WALKS = frozenset({"backward", "manual_backward"})


def zero_each_step(walk: Place, step: Place) -> Iterator[Fix]:
    """Zeroes what a step used: before the only walk of the step, or right behind the step.

    Args:
        walk: the walk whose gradients were added to older ones.
        step: the optimizer's step, or the update by hand, that used both.
    """
    code = code_of(step)
    statement = code.statement(step.node)
    if statement is None:
        return
    call = code.expression(step.node)
    optimizer = _optimizer(code, call) if isinstance(call, ast.Call) else None
    if optimizer is None:
        yield from _reset_by_hand(code, statement)
        return
    title = f"Zero the gradients: `{optimizer}.zero_grad()`"
    block = code.block(statement)
    if walk.source is step.source and block is not None:
        walking = code.statement(walk.node)
        before = block.statements[: block.index]
        walks = [one for one in before if any(_is_walk(node) for node in ast.walk(one))]
        if walks and walks == [walking] and isinstance(walking, ast.Expr):
            yield from unsafe(title, insert_zero_grad(code.source, code.tree, walking, optimizer))
            return
    yield from unsafe(title, insert_after(code.source, code.tree, statement, f"{optimizer}.zero_grad()"))


def zero_before(walk: Place, step: Place) -> Iterator[Fix]:
    """Zeroes the parameters of a step right before the walk of its own loss."""
    code = code_of(walk)
    statement = code.statement(walk.node)
    there = code_of(step)
    call = there.expression(step.node)
    optimizer = _optimizer(there, call) if isinstance(call, ast.Call) else None
    if optimizer is not None and isinstance(statement, ast.Expr) and walk.source is step.source:
        edits = insert_zero_grad(code.source, code.tree, statement, optimizer)
        yield from unsafe(f"Zero the gradients: `{optimizer}.zero_grad()`", edits)


def zero_after_step(zeroing: Place) -> Iterator[Fix]:
    """Moves a `zero_grad()` to right behind the step."""
    code = code_of(zeroing)
    statement = code.statement(zeroing.node)
    call = code.expression(zeroing.node)
    if not isinstance(statement, ast.Expr) or statement.value is not call or not isinstance(call, ast.Call):
        return
    loops = code.loops(statement)
    region: ast.AST = loops[0] if loops else code.function(statement) or code.tree
    steps = [node for node in ast.walk(region) if isinstance(node, ast.Expr) and _called(node) == "step"]
    owner = code.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    own = [one for one in steps if isinstance(one.value, ast.Call) and _optimizer(code, one.value) == owner] or steps
    if len(own) != 1:
        return
    edits = combine(
        remove_statement(code.source, code.tree, statement),
        insert_after(code.source, code.tree, own[0], code.text(statement)),
    )
    yield from unsafe(f"Move it behind the step on line {own[0].lineno}", edits)


def _called(statement: ast.Expr) -> str:
    """The name of what a statement calls; empty for another statement."""
    return callee_name(statement.value) if isinstance(statement.value, ast.Call) else ""


def _optimizer(code: Code, call: ast.Call) -> str | None:
    """The optimizer of `optimizer.step()` and of `scaler.step(optimizer)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return None
    receiver = call.func.value
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Name | ast.Attribute) and code.text(receiver).lower().endswith("scaler"):
        return code.text(given)
    return code.text(receiver) if isinstance(receiver, ast.Name | ast.Attribute | ast.Subscript) else None


def _reset_by_hand(code: Code, statement: ast.stmt) -> Iterator[Fix]:
    """`w.grad.zero_()` behind an update by hand."""
    owner = next(
        (node.value for node in ast.walk(statement) if isinstance(node, ast.Attribute) and node.attr == "grad"), None
    )
    if isinstance(owner, ast.Name | ast.Attribute) and not hasattr(statement, "body"):
        name = code.text(owner)
        edits = insert_after(code.source, code.tree, statement, f"{name}.grad.zero_()")
        yield from unsafe(f"Zero the gradient: `{name}.grad.zero_()`", edits)


def _is_walk(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and callee_name(node) in _WALKS
