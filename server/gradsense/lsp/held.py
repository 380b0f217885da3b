"""What the analysis keeps of an open program, for requests about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gradsense.config import Settings
from gradsense.lsp.messages import Analyse
from gradsense.lsp.views import Views
from gradsense.rules.finding import Finding
from gradsense.syntax import ParsedModule, Source, parse


@dataclass
class Held:
    """The last analysis of an open program, and what its fixes need."""

    request: Analyse
    source: Source
    settings: Settings
    findings: list[Finding]
    views: Views

    @cached_property
    def parsed(self) -> ParsedModule:
        """The program's tree."""
        return parse(self.source)

    def lines(self, name: str | None, first: int, last: int) -> tuple[int, int]:
        """Lines of a file, or of a notebook's cell, as the protocol counts them, as lines of the program."""
        index = self.cell_named(name)
        cell = next((cell for cell in self.source.cells if cell.index == index), None)
        offset = 1 if cell is None else cell.first_line
        return first + offset, last + offset

    def cell_named(self, name: str | None) -> int | None:
        """The number of the notebook's cell of that name."""
        return next((cell.index for cell in self.request.cells or () if cell.name == name), None)


def source_of(request: Analyse) -> Source:
    """The program that a request is about."""
    if request.cells is None:
        return Source.from_text(request.path, request.text)
    return Source.from_cells(request.path, [(cell.index, cell.text) for cell in request.cells])
