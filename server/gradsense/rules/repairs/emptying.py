"""Empties what a loop should start with anew: a list of losses, a running total."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradsense.fixes.fix import Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.move import move_into_loop
from gradsense.fixes.tree import same_expression, stored_names
from gradsense.machine.graph import Store, Walk
from gradsense.machine.place import Place
from gradsense.machine.values import ListValue
from gradsense.rules.editing import Code, Loop, code_of, safe, unsafe
from gradsense.rules.repairs.passes import end_of_step, in_function_of


def start_anew(store: Store, walk: Walk, walked: ast.stmt, loops: Sequence[Loop]) -> Iterator[Fix]:
    """A total that is itself walked starts at its first number again behind the walk.

    Args:
        store: where the total is set.
        walk: its walk.
        walked: the statement of the walk in the function of the store.
        loops: the loops around both, the innermost first.
    """
    root = walk.root
    if root is None or store.name not in root.names() or root.number_of_elements not in (1, None):
        return
    code = code_of(store.place)
    first = next((found for loop in loops if (found := _set_before(code, loop, store.name)) is not None), None)
    value = first.value if first is not None else None
    if first is None or not isinstance(value, ast.Constant) or not isinstance(value.value, int | float):
        return
    if len(first.targets) == 1 and isinstance(first.targets[0], ast.Name):
        edits = insert_after(code.source, code.tree, end_of_step(code, walked), code.text(first))
        yield from safe(f"Start `{store.name}` anew after the walk on line {walked.lineno}", edits)


def make_anew(container: ListValue, walk: Walk) -> Iterator[Fix]:
    """A list of losses that is never emptied: made anew in each pass, or emptied behind the walk."""
    known = container.stores[0] if container.stores else None
    if known is not None and known.kind == "name":
        code = code_of(known.place)
        statement, walked = code.statement(known.place.node), in_function_of(known, walk.place)
        if statement is not None and walked is not None:
            outside = code.loops(statement)
            loop = next((loop for loop in code.loops(walked) if loop not in outside), None)
            edits = move_into_loop(code.source, code.tree, [statement], loop) if loop is not None else None
            yield from unsafe(f"Make `{known.name}` anew in each pass", edits)
    for place in (walk.place, *reversed(walk.place.stack)):
        yield from _cleared(place, container)


def _set_before(code: Code, loop: Loop, name: str) -> ast.Assign | None:
    """The last assignment to a name before a loop, in the loop's block."""
    block = code.block(loop)
    for statement in reversed(block.statements[: block.index]) if block is not None else ():
        if isinstance(statement, ast.Assign) and name in stored_names(statement):
            return statement
    return None


def _cleared(place: Place, container: ListValue) -> Iterator[Fix]:
    """Empties a list behind the walk that used it, with the other lists that are read for the same loss."""
    code = code_of(place)
    walk = code.statement(place.node)
    if walk is None:
        return
    function = code.function(walk)
    attributes = {store.name.rpartition(".")[2] for store in container.stores if "." in store.name}
    names = {store.name for store in container.stores if store.kind == "name"}
    for node in ast.walk(function or code.tree):
        is_attribute = isinstance(node, ast.Attribute) and node.attr in attributes
        if isinstance(node, ast.Attribute | ast.Name) and (is_attribute or getattr(node, "id", None) in names):
            lists = [code.text(node), *_siblings(code, function, node)]
            lines = "\n".join(f"{text}.clear()" for text in lists)
            edits = insert_after(code.source, code.tree, end_of_step(code, walk), lines)
            shown = " and ".join(f"`{text}`" for text in lists)
            yield from unsafe(f"Clear {shown} after the walk on line {walk.lineno}", edits)
            return


def _siblings(code: Code, function: ast.AST | None, own: ast.Attribute | ast.Name) -> list[str]:
    """The other lists of the same object that a function reads and the program appends to."""
    if not isinstance(own, ast.Attribute) or function is None:
        return []
    grown = {
        node.func.value.attr
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Attribute)
    }
    found = [
        code.text(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and node.attr in grown - {own.attr}
        and same_expression(node.value, own.value)
    ]
    return list(dict.fromkeys(found))
