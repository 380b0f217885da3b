"""Takes a `with` away from its block."""

from __future__ import annotations

import ast

from gradsense.fixes.fix import Edits
from gradsense.fixes.layout import ends_line, indentation, start_of
from gradsense.fixes.strings import lines_inside_strings
from gradsense.fixes.tree import block_of, last_line
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span


def unwrap_with(
    source: Source, tree: ast.Module, statement: ast.With, item: ast.withitem | None = None
) -> Edits | None:
    """Takes one context out of a `with`, and the `with` itself where it has no other.

    Args:
        statement: the `with`.
        item: which of its contexts; the only one by default.

    Returns:
        None where the context's value has a name that the block uses, or the block's lines cannot be dedented.
    """
    index = next((i for i, one in enumerate(statement.items) if one is item), None if item else 0)
    if index is None or (item is None and len(statement.items) > 1) or block_of(tree, statement) is None:
        return None
    if statement.items[index].optional_vars is not None:
        return None
    if len(statement.items) > 1:
        return _without_item(source, statement, index)
    first, last = statement.body[0], statement.body[-1]
    outer, inner = indentation(source, statement), indentation(source, first)
    if inner is None:
        return (TextEdit(source.path, Span(*source.span_of(statement).start, *start_of(source, first)), ""),)
    if outer is None or not inner.startswith(outer) or not ends_line(source, last):
        return None
    begin, end = start_of(source, first)[0], last_line(last)
    inside = lines_inside_strings(source, begin, end)
    if inside is None:
        return None
    block = _after_header(source, statement)
    edits = [TextEdit(source.path, Span(statement.lineno, 0, block, 0), "")]
    step = len(inner) - len(outer)
    for line in range(block, end + 1):
        text = source.lines[line - 1]
        width = min(step, len(text) - len(text.lstrip()))
        if line not in inside and width:
            edits.append(TextEdit(source.path, Span(line, 0, line, width), ""))
    return tuple(edits)


def _after_header(source: Source, statement: ast.With) -> int:
    """The first line below the line on which the `with` has its colon: comments above the block stay."""
    line = start_of(source, statement.body[0])[0]
    while source.lines[line - 2].lstrip().startswith("#") or not source.lines[line - 2].strip():
        line -= 1
    return line


def _without_item(source: Source, statement: ast.With, index: int) -> Edits:
    spans = [source.span_of(one.context_expr) for one in statement.items]
    named = statement.items[index - 1].optional_vars
    if index == 0:
        span = Span(*spans[0].start, *spans[1].start)
    else:
        before = spans[index - 1] if named is None else source.span_of(named)
        span = Span(*before.end, *spans[index].end)
    return (TextEdit(source.path, span, ""),)
