"""Findings and fixes in the client's coordinates, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gradsense.fixes.fix import Applicability, Fix
from gradsense.lsp.messages import EditView, FindingView, FixView, Place, RelatedView
from gradsense.rules.finding import Finding, Related
from gradsense.syntax import Source, Span, TextEdit
from gradsense.syntax.columns import Encoding, encode_column

_BOM = "\ufeff"


class Views:
    """Makes views; it knows how to find the text that a span lies in.

    Args:
        encoding: the unit in which the client counts characters.
        source_of: the source of a file by its path, or None where it cannot be read.
        url_of: the address of a rule's page by its code, or None where there is none.
    """

    def __init__(
        self,
        encoding: Encoding,
        source_of: Callable[[str], Source | None],
        url_of: Callable[[str], str | None],
    ) -> None:
        self._encoding = encoding
        # For the time of one analysis, files stay as they are.
        self._source_of = cache(source_of)
        self._url_of = url_of

    def place(self, path: str, span: Span) -> Place:
        """A span as the client counts it."""
        source = self._source_of(path)
        return Place(
            span.line - 1,
            self._character(source, span.line, span.column),
            span.end_line - 1,
            self._character(source, span.end_line, span.end_column),
        )

    def finding(self, index: int, finding: Finding) -> FindingView:
        """A finding; `index` is the number that requests for its fixes will name."""
        return FindingView(
            index=index,
            code=finding.code,
            name=finding.name,
            severity=finding.severity.value,
            message=finding.message,
            place=self.place(finding.path, finding.span),
            related=tuple(self._related(related) for related in finding.related),
            expected=finding.expected,
            tags=finding.tags,
            url=self._url_of(finding.code),
        )

    def fix(self, index: int, fix: Fix) -> FixView:
        """A fix of the finding of that number."""
        safe = fix.applicability is Applicability.SAFE
        return FixView(index, fix.title, safe, fix.preferred, tuple(self.edit(edit) for edit in fix.edits))

    def edit(self, edit: TextEdit) -> EditView:
        """One edit."""
        return EditView(edit.path, self.place(edit.path, edit.span), edit.new_text)

    def _related(self, related: Related) -> RelatedView:
        source = self._source_of(related.path)
        text = source.lines[related.span.line - 1].strip() if source and related.span.line <= len(source.lines) else ""
        return RelatedView(related.path, self.place(related.path, related.span), related.message, text)

    def _character(self, source: Source | None, line: int, column: int) -> int:
        if source is None or not 1 <= line <= len(source.lines):
            return column
        text = source.lines[line - 1]
        if line == 1 and source.bom:
            # The client's buffer holds the mark that the source has dropped.
            text, column = _BOM + text, column + 1
        return encode_column(text, column, self._encoding)
