"""How statements share lines: who begins a line, who ends one, and what the lines' indentation is."""

from __future__ import annotations

import ast
import re

from gradsense.fixes.tree import first_line, last_line
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

_REST = re.compile(r"\s*(;\s*)?(?P<comment>#.*)?$")


def start_of(source: Source, statement: ast.stmt) -> tuple[int, int]:
    """Line and column at which a statement begins; at the `@` of its first decorator where it has one."""
    return (first_line(statement), source.span_of(statement).column)


def indentation(source: Source, statement: ast.stmt) -> str | None:
    """The white space before a statement that begins its line; None where something else precedes it there."""
    line, column = start_of(source, statement)
    before = source.lines[line - 1][:column]
    continues = line > 1 and source.lines[line - 2].endswith("\\")
    return None if before.strip() or continues else before


def ends_line(source: Source, statement: ast.stmt) -> bool:
    """Whether nothing but a comment or a lone `;` follows a statement on its last line."""
    return _REST.match(_rest(source, statement)) is not None


def comment_of(source: Source, statement: ast.stmt) -> str | None:
    """The comment behind a statement, if it ends its line."""
    match = _REST.match(_rest(source, statement))
    return match.group("comment") if match else None


def is_elif(source: Source, statement: ast.stmt) -> bool:
    """Whether an `if` is spelt `elif`, so that nothing can stand before it."""
    line, column = start_of(source, statement)
    return isinstance(statement, ast.If) and source.lines[line - 1].startswith("elif", column)


def indent_unit(source: Source, tree: ast.Module, near: ast.stmt | None = None) -> str:
    """One step of the file's indentation, read from the block nearest to a statement; four spaces where none tells."""
    blocks = [near] if near is not None else []
    for owner in (*blocks, *(node for node in ast.walk(tree) if isinstance(node, ast.stmt))):
        body = getattr(owner, "body", None)
        if not isinstance(body, list) or not body:
            continue
        outer, inner = indentation(source, owner), indentation(source, body[0])
        if outer is not None and inner is not None and inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return "    "


def delete_lines(source: Source, first: int, last: int) -> TextEdit:
    """Deletes whole lines, with a line end on their own side of a notebook cell's border."""
    end = len(source.lines[last - 1])
    if last < len(source.lines) and _same_cell(source, last, last + 1):
        span = Span(first, 0, last + 1, 0)
    elif first > 1 and _same_cell(source, first - 1, first):
        span = Span(first - 1, len(source.lines[first - 2]), last, end)
    else:
        span = Span(first, 0, last, end)
    return TextEdit(source.path, span, "")


def insertion(source: Source, place: tuple[int, int], text: str) -> TextEdit:
    """Puts text at a place."""
    return TextEdit(source.path, Span(*place, *place), text)


def _same_cell(source: Source, one: int, other: int) -> bool:
    cell, neighbour = source.cell_at(one), source.cell_at(other)
    return cell is neighbour is None or (cell is not None and neighbour is not None and cell[0] == neighbour[0])


def _rest(source: Source, statement: ast.stmt) -> str:
    end = source.span_of(statement).end_column
    return source.lines[last_line(statement) - 1][end:]
