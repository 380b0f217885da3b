"""Takes statements that share a line apart, so that some of them get lines of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import pairwise

from gradsense.fixes.layout import indent_unit, indentation
from gradsense.fixes.tree import Block
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

_SEPARATOR = re.compile(r"(?:\s|\\)*;(?:\s|\\)*$")
_COLON = re.compile(r":(?:[ \t\f]|\\\r?\n)*$")


def own_lines(
    source: Source, tree: ast.Module, block: Block, run: Sequence[ast.stmt]
) -> tuple[list[TextEdit], str] | None:
    """The edits after which statements of a block share no line with others, and the indentation that they then have.

    Args:
        block: the block; one that stands behind its `:` moves to the next line.
        run: the statements, neighbours within the block.

    Returns:
        None where the text between two statements is not just `;` or `:`.
    """
    first = block.statements[0]
    indent = indentation(source, first)
    edits: list[TextEdit] = []
    if indent is None:
        outer = _header_indent(source, block)
        if outer is None:
            return None
        indent = outer + indent_unit(source, tree)
        start = source.offset(*source.span_of(first).start)
        match = _COLON.search(source.text, 0, start)
        if match is None:
            return None
        edits.append(_between(source, match.start() + 1, start, indent))
    for before, after in pairwise(block.statements):
        if indentation(source, after) is not None or not any(one is before or one is after for one in run):
            continue
        begin = source.offset(*source.span_of(before).end)
        end = source.offset(*source.span_of(after).start)
        if not _SEPARATOR.fullmatch(source.text[begin:end]):
            return None
        edits.append(_between(source, begin, end, indent))
    return edits, indent


def _header_indent(source: Source, block: Block) -> str | None:
    """The indentation of the line on which a one-line block stands."""
    line = source.span_of(block.statements[0]).line
    while line > 1 and source.lines[line - 2].endswith("\\"):
        line -= 1
    text = source.lines[line - 1]
    return text[: len(text) - len(text.lstrip())]


def _between(source: Source, begin: int, end: int, indent: str) -> TextEdit:
    span = Span(*source.place(begin), *source.place(end))
    return TextEdit(source.path, span, source.newline + indent)
