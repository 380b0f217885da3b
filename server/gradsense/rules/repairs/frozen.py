"""Lets parameters require grad again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits
from gradsense.fixes.insert import insert_after
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import drop_last
from gradsense.fixes.remove import remove_statement
from gradsense.machine.place import Place
from gradsense.rules.editing import Code
from gradsense.rules.wording import quoted

Thawing = tuple[str, Edits | None]


def thaw(code: Code, place: Place, walk: ast.AST | None) -> Iterator[Thawing]:
    """What can be done about `requires_grad_(False)`: switch it on again behind the step, or leave it out.

    Args:
        code: the file.
        place: where grad was switched off.
        walk: the walk that needs it, where it stands in this file.
    """
    statement = code.statement(place.node)
    call = code.expression(place.node)
    if statement is None:
        return
    loops = code.loops(statement)
    needing = code.twin(walk) if walk is not None else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and callee_name(call) == "requires_grad_":
        owner = code.text(call.func.value)
        if loops and needing is not None and any(needing is node for node in ast.walk(loops[0])):
            edits = insert_after(code.source, code.tree, loops[0].body[-1], f"{owner}.requires_grad_(True)")
            yield f"switch {quoted(owner)} on again at the end of each pass", edits
        if not (isinstance(statement, ast.Expr) and statement.value is call):
            yield "drop `requires_grad_(False)`", drop_last(code.source, code.tree, call)
            return
    whole = loops[0] if loops and loops[0].body == [statement] else statement
    if isinstance(whole, ast.Expr | ast.Assign | ast.For):
        yield f"leave out line {whole.lineno}, which freezes it", remove_statement(code.source, code.tree, whole)
