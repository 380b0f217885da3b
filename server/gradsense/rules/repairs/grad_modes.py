"""Lets a forward be recorded that ran with gradients off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.keywords import callee_name, set_keyword
from gradsense.fixes.layout import delete_lines, ends_line, indentation, insertion, start_of
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.strings import lines_inside_strings
from gradsense.fixes.tree import last_line
from gradsense.fixes.unwrap import unwrap_with
from gradsense.fixes.wrap import wrap_in
from gradsense.machine.place import Place
from gradsense.rules.editing import Code
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.spans import Span

# What it does, the edits, and whether no more than one statement is recorded that was not before.
Recording = tuple[str, Edits | None, bool]


def record_again(code: Code, place: Place, walk: ast.AST | None) -> Iterator[Recording]:
    """What can be done about the `no_grad` at a place.

    Args:
        code: the file of the place.
        place: the decorator, the context or the call that switched recording off, or what ran under it.
        walk: the walk that needs the graph, where it stands in this file.
    """
    node = code.twin(place.node)
    statement = code.statement(place.node)
    if node is None or statement is None:
        return
    if isinstance(statement, ast.FunctionDef) and node in statement.decorator_list and isinstance(node, ast.expr):
        text = code.text(node)
        yield f"remove the decorator `@{text}`", without_decorator(code, node), True
        return
    if isinstance(statement, ast.With):
        yield from _out_of_with(code, statement, node, walk)
        return
    if isinstance(node, ast.Call) and callee_name(node) == "checkpoint":
        edits = set_keyword(code.source, code.tree, node, "use_reentrant", "False")
        yield "checkpoint with `use_reentrant=False`", edits, True
        return
    if isinstance(node, ast.Call) and callee_name(node) == "__enter__" and isinstance(statement, ast.Expr):
        yield from _as_block(code, statement)
        return
    switched = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value is node
    if switched and isinstance(node, ast.Call) and _is_false(node):
        yield from _as_block(code, statement)
    elif switched and isinstance(node, ast.Call) and len(node.args) == 1 and not isinstance(node.args[0], ast.Constant):
        edits = replace_expression(code.source, code.tree, node.args[0], "True")
        yield f"leave it on, whatever `{code.text(node.args[0])}` is", edits, False


def _is_false(call: ast.Call) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is False


def without_decorator(code: Code, node: ast.expr) -> Edits | None:
    """Takes a decorator away with its line; None where it shares that with anything but a comment."""
    span = code.source.span_of(node)
    line = code.source.lines[span.line - 1]
    if line[: span.column].strip() != "@" or span.line != span.end_line:
        return None
    rest = line[span.end_column :].strip()
    return None if rest and not rest.startswith("#") else (delete_lines(code.source, span.line, span.line),)


def _out_of_with(code: Code, statement: ast.With, node: ast.AST, walk: ast.AST | None) -> Iterator[Recording]:
    item = next((one for one in statement.items if one.context_expr is node), None)
    if item is None:
        return
    text = code.text(item.context_expr)
    needing = code.twin(walk) if walk is not None else None
    inside = [
        index for index, one in enumerate(statement.body) if needing is not None and needing in set(ast.walk(one))
    ]
    if inside and inside[0] + 1 < len(statement.body):
        yield f"begin `{text}` after the backward", _started_after(code, statement, inside[0]), True
        return
    alone = len(statement.body) == 1
    edits = unwrap_with(code.source, code.tree, statement, item if len(statement.items) > 1 else None)
    yield f"remove `{text}` around line {statement.body[0].lineno}", edits, alone


def _started_after(code: Code, statement: ast.With, index: int) -> Edits | None:
    """Moves the first statements of a `with` out of it, and the `with` down behind them."""
    source, block = code.source, statement.body
    outer, inner = indentation(source, statement), indentation(source, block[0])
    if outer is None or inner is None or not inner.startswith(outer) or not ends_line(source, block[index]):
        return None
    if indentation(source, block[index + 1]) is None:
        return None
    begin, end = start_of(source, block[0])[0], last_line(block[index])
    inside = lines_inside_strings(source, begin, end)
    if inside is None or inside:
        return None
    first = source.span_of(statement).line
    header = "".join(f"{source.lines[number - 1]}{source.newline}" for number in range(first, begin))
    edits = [TextEdit(source.path, Span(first, 0, begin, 0), "")]
    width = len(inner) - len(outer)
    for number in range(begin, end + 1):
        if source.lines[number - 1].strip():
            edits.append(TextEdit(source.path, Span(number, 0, number, width), ""))
    edits.append(insertion(source, (start_of(source, block[index + 1])[0], 0), header))
    return tuple(edits)


def _as_block(code: Code, statement: ast.stmt) -> Iterator[Recording]:
    """Switches recording off for the rest of the block only, and on again behind it."""
    block = code.block(statement)
    rest = block.statements[block.index + 1 :] if block is not None else []
    if not rest:
        return
    edits = combine(
        remove_statement(code.source, code.tree, statement), wrap_in(code.source, code.tree, rest, "torch.no_grad")
    )
    yield "switch it off for this block only, with `torch.no_grad()`", edits, True
