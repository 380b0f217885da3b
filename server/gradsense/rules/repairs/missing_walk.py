"""Lets a loss be walked that is not: with the loss that is, before the step, or by moving it before the walk."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix, combine
from gradsense.fixes.insert import insert_before
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.tree import Block, loaded_names
from gradsense.machine.graph import Tensor
from gradsense.rules.editing import Code, code_of, unsafe


def walked_too(loss: Tensor) -> Iterator[Fix]:
    """The ways to make a loss part of a walk, by where it stands among the walks and steps of its block."""
    store = next((store for store in loss.stores if store.kind == "name"), None)
    if store is None or loss.number_of_elements not in {1, None}:
        return
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    block = code.block(statement) if statement is not None else None
    if statement is None or block is None:
        return
    walks = [one for one in block.statements if _walked(one) is not None]
    if len(walks) == 1:
        yield from _with_walk(code, block, walks[0], store.name)
    elif not walks and not _walks_around(code, statement):
        yield from _before_step(code, block, store.name)


def _walked(statement: ast.stmt) -> ast.expr | None:
    """What `loss.backward()` as a statement walks."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return None if call.args else call.func.value
    return None


def _walks_around(code: Code, statement: ast.stmt) -> bool:
    loops = code.loops(statement)
    region: ast.AST = loops[-1] if loops else code.function(statement) or code.tree
    return any(isinstance(node, ast.Attribute) and "backward" in node.attr for node in ast.walk(region))


def _with_walk(code: Code, block: Block, walk: ast.stmt, name: str) -> Iterator[Fix]:
    statement, root = block.statements[block.index], _walked(walk)
    if root is None:
        return
    own = isinstance(root, ast.Name) and root.id == name
    if block.statements.index(walk) > block.index:
        if not own:
            edits = replace_expression(code.source, code.tree, root, f"({code.text(root)} + {name})")
            yield from unsafe(f"Add `{name}` to what line {walk.lineno} walks", edits)
    elif own and isinstance(statement, ast.Assign) and name in loaded_names(statement.value):
        moved = insert_before(code.source, code.tree, walk, code.text(statement))
        edits = combine(remove_statement(code.source, code.tree, statement), moved)
        yield from unsafe(f"Move it before the walk on line {walk.lineno}", edits)


def _before_step(code: Code, block: Block, name: str) -> Iterator[Fix]:
    for later in block.statements[block.index + 1 :]:
        if isinstance(later, ast.Expr) and isinstance(later.value, ast.Call) and callee_name(later.value) == "step":
            edits = insert_before(code.source, code.tree, later, f"{name}.backward()")
            yield from unsafe(f"Walk it before the step: `{name}.backward()`", edits)
            return
