"""Puts the walk that was forgotten before the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.insert import insert_before
from gradsense.fixes.keywords import callee_name
from gradsense.machine.graph import Tensor
from gradsense.rules.editing import code_of, unsafe


def walk_before_step(loss: Tensor) -> Iterator[Fix]:
    """Walks a loss before the optimizer's step that follows it, where its loop or function holds no walk at all."""
    store = next((store for store in loss.stores if store.kind == "name"), None)
    if store is None or loss.number_of_elements not in {1, None}:
        return
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    block = code.block(statement) if statement is not None else None
    if statement is None or block is None:
        return
    loops = code.loops(statement)
    region: ast.AST = loops[-1] if loops else code.function(statement) or code.tree
    if any(isinstance(node, ast.Attribute) and "backward" in node.attr for node in ast.walk(region)):
        return
    for later in block.statements[block.index + 1 :]:
        if isinstance(later, ast.Expr) and isinstance(later.value, ast.Call) and callee_name(later.value) == "step":
            edits = insert_before(code.source, code.tree, later, f"{store.name}.backward()")
            yield from unsafe(f"Walk it before the step: `{store.name}.backward()`", edits)
            return
