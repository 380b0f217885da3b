"""Places as a person counts them: by the lines of a file, or of a notebook's cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradsense.syntax import Source, Span


@dataclass(frozen=True, slots=True)
class Region:
    """A span as a person counts it: in a notebook, by the lines of its cell.

    Args:
        cell: the cell's index among all of the notebook's cells, from 0; None for a plain file.
        line, end_line: from 1.
        column, end_column: from 0, in code points.
    """

    cell: int | None
    line: int
    column: int
    end_line: int
    end_column: int


def region(sources: Mapping[str, Source], path: str, span: Span) -> Region:
    """Puts a span of a program into terms of the file that the user sees."""
    source = sources.get(path)
    start = source.cell_at(span.line) if source else None
    if source is None or start is None:
        return Region(None, span.line, span.column, span.end_line, span.end_column)
    cell, line = start
    end = source.cell_at(span.end_line)
    end_line = end[1] if end and end[0] == cell else line + span.end_line - span.line
    return Region(cell, line, span.column, end_line, span.end_column)


def place(sources: Mapping[str, Source], path: str, span: Span) -> str:
    """Names the start of a span as terminals and editors link it: `train.py:14:5`, `a.ipynb:cell 3:2:1`, from 1."""
    at = region(sources, path, span)
    cell = "" if at.cell is None else f"cell {at.cell + 1}:"
    return f"{path}:{cell}{at.line}:{at.column + 1}"
