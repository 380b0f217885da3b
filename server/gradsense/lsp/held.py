"""What the analysis keeps of an open program, for requests about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gradsense.config import Settings
from gradsense.live import LiveCheck
from gradsense.lsp.messages import Analyse
from gradsense.lsp.views import Views
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, Span
from gradsense.syntax.columns import decode_column
from gradsense.syntax.edits import split_lines


@dataclass
class Held:
    """An open program, its last analysis, and what its fixes need.

    Args:
        request: the last one to analyse it.
        check: what finds things in it.
        findings: what was found, by numbers that stay the same for one revision.
        idle: the lines of comments that silence nothing, as of the last time that everything was looked at.
    """

    request: Analyse
    check: LiveCheck
    settings: Settings
    views: Views
    findings: dict[int, Finding] = field(default_factory=dict)
    idle: set[int] = field(default_factory=set)
    _numbers: dict[tuple[str, Span, str], int] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The program's text."""
        return self.check.source

    def begin(self, request: Analyse) -> None:
        """Takes a request to find something."""
        if request.revision != self.request.revision:
            self._numbers.clear()
        self.request = request

    def number(self, findings: Iterable[Finding]) -> None:
        """Takes what was found; what was found in the same text before keeps its number."""
        self.findings = {}
        for finding in findings:
            key = (finding.code, finding.span, finding.message)
            self.findings[self._numbers.setdefault(key, len(self._numbers))] = finding

    def lines(self, name: str | None, first: int, last: int) -> tuple[int, int]:
        """Lines of a file, or of a notebook's cell, as the protocol counts them, as lines of the program."""
        index = self.cell_named(name)
        cell = next((cell for cell in self.source.cells if cell.index == index), None)
        offset = 1 if cell is None else cell.first_line
        return first + offset, last + offset

    def place_in(self, name: str | None, line: int, character: int) -> tuple[int, int]:
        """A position in a file, or in a notebook's cell, as line and column of the program."""
        source = self.source
        number, _ = self.lines(name, line, line)
        cell = source.cell_of(number)
        text = source.lines[number - 1] if 1 <= number <= len(source.lines) else ""
        if cell is not None and cell.first_line <= number <= cell.last_line:
            text = split_lines(cell.text)[number - cell.first_line]
        mark = 1 if number == 1 and source.bom else 0
        # The client's buffer holds the mark that the source has dropped.
        column = decode_column("\ufeff" * mark + text, character, self.request.encoding) - mark
        return number, max(0, column)

    def cell_named(self, name: str | None) -> int | None:
        """The number of the notebook's cell of that name."""
        return next((cell.index for cell in self.request.cells or () if cell.name == name), None)


def source_of(request: Analyse) -> Source:
    """The program that a request is about."""
    if request.cells is None:
        return Source.from_text(request.path, request.text)
    return Source.from_cells(request.path, [(cell.index, cell.text) for cell in request.cells])
