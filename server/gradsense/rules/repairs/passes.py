"""Where in a pass of a loop things stand: what is behind a walk, what is read later, what goes from pass to pass."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradsense.fixes.tree import mentions
from gradsense.machine.graph import Store, Walk
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, Loop, code_of
from gradsense.rules.repairs.aliases import frame_of
from gradsense.rules.repairs.rewalking import meet

# What follows a walk within a step.
_AFTER_WALK = frozenset({"step", "zero_grad", "update", "unscale_", "clip_grad_norm_", "clip_grad_value_"})


def parsed(name: str) -> ast.expr | None:
    """A store's name as an expression; None where it is none, as `.field` of a named tuple."""
    try:
        return ast.parse(name, mode="eval").body
    except SyntaxError:
        return None


def spelling(store: Store) -> str:
    """How the program writes what a store sets: `runtime.hidden` for another module's variable, `h[k]` for an item."""
    node = store.place.node
    own = isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and store.kind == "item")
    return store.place.text if own else store.name


def in_function_of(store: Store, place: Place) -> ast.stmt | None:
    """The statement of the store's function in which a place was reached; None where the function was over."""
    frame = frame_of(store.place, place)
    return None if frame is None else code_of(frame).statement(frame.node)


def windowed(store: Store, walk: Walk) -> bool:
    """Whether one walk takes in several stores of one place, as where it follows an inner loop over time."""
    kept, walked = meet(store.place, walk.place)
    if kept.source is not walked.source:
        return True
    code = code_of(kept)
    statement, late = code.statement(kept.node), code.statement(walked.node)
    if statement is None or late is None:
        return True
    return bool(set(code.loops(statement)) - set(code.loops(late)))


def end_of_step(code: Code, walk: ast.stmt) -> ast.stmt:
    """The walk, or the last of the optimizer's statements right behind it."""
    block = code.block(walk)
    if block is None:
        return walk
    last = walk
    for statement in block.statements[block.index + 1 :]:
        call = statement.value if isinstance(statement, ast.Expr) else None
        function = call.func if isinstance(call, ast.Call) else None
        if not (isinstance(function, ast.Attribute) and function.attr in _AFTER_WALK):
            break
        last = statement
    return last


def read_later(code: Code, statement: ast.stmt, target: ast.expr, loops: Sequence[Loop] = ()) -> bool:
    """Whether `target` is read after `statement`, within the same pass of `loops` or else the same function."""
    current: ast.AST = statement
    for owner in reversed(code.ancestors(statement)):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(owner, name, None)
            if isinstance(statements, list) and current in statements:
                later = statements[statements.index(current) + 1 :]
                if any(mentions(one, target) for one in later):
                    return True
        if owner in loops or isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return False
        current = owner
    return False
