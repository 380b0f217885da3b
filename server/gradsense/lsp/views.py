"""Findings and fixes in the client's coordinates, as plain data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from gradsense.files import with_newline
from gradsense.fixes.fix import Applicability, Fix
from gradsense.lsp.messages import EditView, FindingView, FixView, Place, RelatedView
from gradsense.rules.finding import Finding, Related
from gradsense.syntax import Cell, Source, Span, TextEdit
from gradsense.syntax.columns import Encoding, encode_column
from gradsense.syntax.edits import split_lines
from gradsense.syntax.notebook import localise

_BOM = "\ufeff"


@dataclass(frozen=True)
class Spot:
    """A place in what the client has open: a file or a cell by its name, and a stretch of it."""

    name: str
    place: Place
    text: str = field(compare=False)
    cell: int | None = None


class Views:
    """Makes views; it knows how to find the text that a span lies in.

    Args:
        encoding: the unit in which the client counts characters.
        source_of: the source of a file by its path, or None where it cannot be read.
        url_of: the address of a rule's page by its code, or None where there is none.
        cells: for a notebook, the names of its cells by their numbers.
    """

    def __init__(
        self,
        encoding: Encoding,
        source_of: Callable[[str], Source | None],
        url_of: Callable[[str], str | None],
        cells: Mapping[int, str] | None = None,
    ) -> None:
        self._encoding = encoding
        # For the time of one analysis, files stay as they are.
        self._source_of = cache(source_of)
        self._url_of = url_of
        self._cells = cells or {}

    def spot(self, path: str, span: Span) -> Spot:
        """A span as the client counts it."""
        source = self._source_of(path)
        if source is None:
            return Spot(path, Place(span.line - 1, span.column, span.end_line - 1, span.end_column), "")
        cell = source.cell_of(span.line)
        if cell is not None and cell.index in self._cells:
            return self._spot_in_cell(source, cell, span)
        place = Place(
            span.line - 1,
            self._character(source, span.line, span.column),
            span.end_line - 1,
            self._character(source, span.end_line, span.end_column),
        )
        return Spot(path, place, source.lines[span.line - 1].strip() if span.line <= len(source.lines) else "")

    def finding(self, index: int, finding: Finding) -> FindingView:
        """A finding; `index` is the number that requests for its fixes will name."""
        spot = self.spot(finding.path, finding.span)
        return FindingView(
            index=index,
            path=spot.name,
            code=finding.code,
            name=finding.name,
            severity=finding.severity.value,
            message=finding.message,
            place=spot.place,
            related=tuple(self._related(related, spot) for related in finding.related),
            expected=finding.expected,
            tags=finding.tags,
            url=self._url_of(finding.code),
            rerun=finding.rerun,
            behind=finding.behind,
        )

    def fix(self, index: int, finding: Finding, fix: Fix) -> FixView | None:
        """A fix of a finding of that number.

        In a notebook, it may change another cell only where that is a part of the finding's story, and then says so.

        Returns:
            None where it may not, or cannot be put into the cells.
        """
        edits = self.edits([self._in_style(edit) for edit in fix.edits])
        if edits is None:
            return None
        title = fix.title
        home = self.spot(finding.path, finding.span)
        others = [spot for edit in fix.edits if (spot := self.spot(edit.path, edit.span)).name != home.name]
        if self._cells and others:
            story = {self.spot(related.path, related.span).name for related in finding.related}
            if any(spot.name not in story for spot in others):
                return None
            title = f"{title} (changes {_listed(others)})"
        safe = fix.applicability is Applicability.SAFE
        return FixView(index, title, safe, fix.preferred, edits)

    def edits(self, edits: Sequence[TextEdit]) -> tuple[EditView, ...] | None:
        """Edits; None where one of them goes from a notebook's cell into the next, or touches a magic."""
        try:
            return tuple(self._edit(edit) for edit in edits)
        except ValueError:
            return None

    def edit_of_cell(self, index: int, edit: TextEdit, text: str) -> EditView:
        """An edit in lines of a cell of that number, whose text is `text`."""
        return EditView(self._cells[index], self._place_in(split_lines(text), edit.span), edit.new_text)

    def _in_style(self, edit: TextEdit) -> TextEdit:
        source = self._source_of(edit.path)
        return edit if source is None else replace(edit, new_text=with_newline(edit.new_text, source.newline))

    def _edit(self, edit: TextEdit) -> EditView:
        source = self._source_of(edit.path)
        if source is None:
            raise ValueError(f"{edit.path} cannot be read")
        if source.cells:
            cell, local = localise(source, edit)
            return self.edit_of_cell(cell.index, local, cell.text)
        place = self.spot(edit.path, edit.span).place
        return EditView(edit.path, place, edit.new_text)

    def _related(self, related: Related, home: Spot) -> RelatedView:
        spot = self.spot(related.path, related.span)
        line = f"line {spot.place.line + 1}"
        if spot.cell is not None and spot.cell != home.cell:
            line = f"cell {spot.cell + 1} {line}"
        elif spot.cell is None and spot.name != home.name:
            line = f"{os.path.basename(spot.name)} {line}"
        return RelatedView(spot.name, spot.place, related.message, spot.text, line)

    def _spot_in_cell(self, source: Source, cell: Cell, span: Span) -> Spot:
        lines = split_lines(cell.text)
        first = span.line - cell.first_line + 1
        last, column = span.end_line - cell.first_line + 1, span.end_column
        if last > len(lines):
            last, column = len(lines), len(lines[-1])
        place = self._place_in(lines, Span(first, span.column, last, column))
        return Spot(self._cells[cell.index], place, lines[first - 1].strip(), cell.index)

    def _place_in(self, lines: Sequence[str], span: Span) -> Place:
        return Place(
            span.line - 1,
            encode_column(lines[span.line - 1], span.column, self._encoding),
            span.end_line - 1,
            encode_column(lines[span.end_line - 1], span.end_column, self._encoding),
        )

    def _character(self, source: Source, line: int, column: int) -> int:
        if not 1 <= line <= len(source.lines):
            return column
        text = source.lines[line - 1]
        if line == 1 and source.bom:
            # The client's buffer holds the mark that the source has dropped.
            text, column = _BOM + text, column + 1
        return encode_column(text, column, self._encoding)


def _listed(spots: Sequence[Spot]) -> str:
    numbers = sorted({spot.cell for spot in spots if spot.cell is not None})
    files = sorted({os.path.basename(spot.name) for spot in spots if spot.cell is None})
    names = [*(f"cell {number + 1}" for number in numbers), *files]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
