"""Moves a statement to where it belongs: into a loop, before or after another."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.fixes.layout import comment_of, indentation, start_of
from gradsense.fixes.remove import remove_statements
from gradsense.fixes.strings import lines_inside_strings
from gradsense.fixes.tree import block_of, header_of, loaded_names, stored_names
from gradsense.syntax.edits import split_lines
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

Loop = ast.For | ast.AsyncFor | ast.While


def move_into_loop(source: Source, tree: ast.Module, statements: Sequence[ast.stmt], loop: Loop) -> Edits | None:
    """Moves statements from before a loop to the start of its body, so that each pass computes them anew.

    Args:
        statements: simple statements of the block that the loop is in, or of one around it, in the order of the text.
        loop: the loop.

    Returns:
        None where something between them and the loop's body needs their result, where they do not precede the loop,
        or where one of them holds a string of several lines.
    """
    moved = {id(statement) for statement in statements}
    bound = set[str]().union(*(stored_names(statement) for statement in statements))
    for statement in statements:
        between = _between(tree, statement, loop)
        if between is None or hasattr(statement, "body"):
            return None
        if any(bound & _touched(other) for other in between if id(other) not in moved):
            return None
    if any(bound & loaded_names(part) for part in header_of(loop)):
        return None
    first = loop.body[0]
    codes = [_text(source, statement, first) for statement in statements]
    if any(code is None for code in codes):
        return None
    code = "\n".join(code for code in codes if code is not None)
    return combine(remove_statements(source, tree, statements), insert_before(source, tree, first, code))


def move_before(source: Source, tree: ast.Module, statement: ast.stmt, anchor: ast.stmt) -> Edits | None:
    """Moves a statement up, to right before an earlier one of its block.

    Returns:
        None where a statement that it crosses binds what it reads, or it binds what that one reads or binds.
    """
    crossed = _crossed(tree, anchor, statement)
    if crossed is None or not crossed or _entangled(statement, crossed):
        return None
    code = _text(source, statement, anchor)
    if code is None:
        return None
    return combine(remove_statements(source, tree, [statement]), insert_before(source, tree, anchor, code))


def move_after(source: Source, tree: ast.Module, statement: ast.stmt, anchor: ast.stmt) -> Edits | None:
    """Moves a statement down, to right after a later one of its block, such as an optimizer's step behind a backward.

    Returns:
        None where a statement that it crosses binds what it reads, or it binds what that one reads or binds.
    """
    crossed = _crossed(tree, statement, anchor)
    if crossed is None or not crossed:
        return None
    crossed = [*crossed[1:], anchor]
    if _entangled(statement, crossed):
        return None
    code = _text(source, statement, anchor)
    if code is None:
        return None
    return combine(remove_statements(source, tree, [statement]), insert_after(source, tree, anchor, code))


def move_group_after(
    source: Source, tree: ast.Module, statements: Sequence[ast.stmt], anchor: ast.stmt
) -> Edits | None:
    """Moves several statements of one block down, to right after a later one, in their order.

    Returns:
        None where a statement that they cross binds what they read, or they bind what that one reads or binds.
    """
    crossed = _crossed(tree, statements[0], anchor) if statements else None
    if not crossed:
        return None
    moved = {id(statement) for statement in statements}
    if not moved <= {id(statement) for statement in crossed}:
        return None
    for index, statement in enumerate(crossed):
        if id(statement) in moved:
            later = [other for other in (*crossed[index + 1 :], anchor) if id(other) not in moved]
            if _entangled(statement, later):
                return None
    codes = [_text(source, statement, anchor) for statement in statements]
    if any(code is None for code in codes):
        return None
    code = "\n".join(code for code in codes if code is not None)
    return combine(remove_statements(source, tree, statements), insert_after(source, tree, anchor, code))


def _crossed(tree: ast.Module, earlier: ast.stmt, later: ast.stmt) -> list[ast.stmt] | None:
    """The statements from `earlier` up to, not including, `later` of the same block; None where they are in two."""
    block, other = block_of(tree, earlier), block_of(tree, later)
    if block is None or other is None or block.statements is not other.statements:
        return None
    return block.statements[block.index : other.index]


def _entangled(statement: ast.stmt, crossed: Sequence[ast.stmt]) -> bool:
    bound, read = stored_names(statement), loaded_names(statement)
    return any(bound & _touched(other) or read & stored_names(other) for other in crossed)


def _touched(node: ast.AST) -> set[str]:
    return loaded_names(node) | stored_names(node)


def _between(tree: ast.Module, statement: ast.stmt, loop: Loop) -> list[ast.AST] | None:
    """What runs after `statement` and before the loop's body; None where the loop does not follow it."""
    block = block_of(tree, statement)
    if block is None:
        return None
    found: list[ast.AST] = []
    for later in block.statements[block.index + 1 :]:
        if later is loop:
            return found
        if any(child is loop for child in ast.walk(later)):
            # The loop is deeper: nothing on the way to it may need the result, so all of that block counts.
            inside = {id(child) for child in ast.walk(loop)}
            found += [child for child in ast.walk(later) if isinstance(child, ast.Name) and id(child) not in inside]
            return found
        found.append(later)
    return None


def _text(source: Source, statement: ast.stmt, neighbour: ast.stmt) -> str | None:
    """A statement's text and comment without its indentation; None where it cannot stand beside `neighbour` so."""
    span, start = source.span_of(statement), start_of(source, statement)
    lines = split_lines(source.slice(Span(*start, *span.end)))
    if len(lines) > 1 and lines_inside_strings(source, start[0], span.end_line) != set():
        return None
    old = indentation(source, statement)
    if indentation(source, neighbour) is None:
        return lines[0] if len(lines) == 1 else None
    if old is None:
        return "\n".join(lines)
    comment = comment_of(source, statement)
    if comment is not None:
        rest = source.lines[span.end_line - 1][span.end_column :]
        lines[-1] += rest.replace(";", "", 1) if rest.lstrip().startswith(";") else rest
    return "\n".join([lines[0], *(line.removeprefix(old) for line in lines[1:])])
