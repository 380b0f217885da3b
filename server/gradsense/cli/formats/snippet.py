"""Lines of source with marks under them: where the finding is, and the other lines of its story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradsense.cli.terminal import clean
from gradsense.regions import region
from gradsense.syntax import Source, Span
from gradsense.syntax.edits import split_lines

_TAB = 4
_LINES_OF_FINDING = 4
_WIDEST_PIPED_LINE = 240
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline.

    Args:
        path, span: where it is.
        label: what is said behind the underline.
        style: for the finding itself, which gets `^^^`; None for the other lines, which get `---`.
    """

    path: str
    span: Span
    label: str
    style: str | None


@dataclass(frozen=True, slots=True)
class _Underline:
    line: int
    start: int
    end: int
    mark: Mark
    is_last: bool


class Snippet:
    """Draws the marked lines file by file (cell by cell), each in the order of its lines."""

    def __init__(self, marks: list[Mark], sources: Mapping[str, Source], terminal: Console) -> None:
        self._sources = sources
        self._terminal = terminal
        self._encoding = terminal.encoding
        self._groups: dict[tuple[str, int | None], list[Mark]] = {}
        for mark in marks:
            key = (mark.path, region(sources, mark.path, mark.span).cell)
            self._groups.setdefault(key, []).append(mark)
        self._first = next(iter(self._groups))
        numbers = [region(sources, mark.path, mark.span).end_line for mark in marks]
        self._gutter = len(str(max(numbers, default=1))) + 2

    def lines(self) -> Iterator[Text]:
        """The drawn lines, with a heading where the file or cell is not that of the first mark."""
        for key, marks in self._groups.items():
            path, cell = key
            if key != self._first:
                place = f"{path}:cell {cell + 1}" if cell is not None else path
                yield Text(f"{'':>{self._gutter}} > {self._shown(place)}", style="cyan")
            source = self._sources.get(path)
            if source is None:
                for mark in marks:
                    yield Text(f"{mark.span.line:>{self._gutter}}{_BAR}{self._shown(mark.label)}")
            else:
                yield from self._group(source, marks)

    def _group(self, source: Source, marks: list[Mark]) -> Iterator[Text]:
        by_line: dict[int, list[_Underline]] = {}
        for mark in marks:
            for underline in self._underlines(source, mark):
                by_line.setdefault(underline.line, []).append(underline)
        before: int | None = None
        for line in sorted(by_line):
            if before is not None and line == before + 2:
                yield self._code(source, before + 1)
            elif before is not None and line > before + 2:
                yield Text(f"{'...':>{self._gutter}}", style="cyan")
            yield from self._marked(source, line, by_line[line])
            before = line

    def _underlines(self, source: Source, mark: Mark) -> list[_Underline]:
        """One stretch a line: of the finding the first lines, of the other places in its story the first."""
        span = mark.span
        most = _LINES_OF_FINDING if mark.style else 1
        last = min(span.end_line, span.line + most - 1, len(source.lines))
        found = []
        for line in range(span.line, last + 1):
            text = source.lines[line - 1]
            start = span.column if line == span.line else len(text) - len(text.lstrip())
            end = span.end_column if line == span.end_line else len(text.rstrip())
            if end > start or line == span.line:
                found.append(_Underline(line, start, max(end, start + 1), mark, is_last=line == last))
        return found

    def _marked(self, source: Source, line: int, underlines: list[_Underline]) -> Iterator[Text]:
        text, offsets = self._laid_out(_original(source, line))
        limit = self._terminal.width - self._gutter - len(_BAR) if self._terminal.is_terminal else _WIDEST_PIPED_LINE
        start = _window(offsets, underlines[0], max(limit, 20))
        text, offsets = _cropped(text, offsets, start, max(limit, 20))
        yield self._numbered(source, line, text)
        for underline in underlines:
            left = offsets[min(underline.start, len(offsets) - 1)]
            right = offsets[min(underline.end, len(offsets) - 1)]
            character = "-" if underline.mark.style is None else "^"
            label = self._shown(underline.mark.label) if underline.is_last else ""
            drawn = Text(" " * self._gutter + _BAR, style="cyan")
            drawn.append(" " * left)
            style = underline.mark.style or "blue"
            drawn.append(f"{character * max(right - left, 1)} {label}".rstrip(), style=style)
            yield drawn

    def _code(self, source: Source, line: int) -> Text:
        return self._numbered(source, line, self._laid_out(_original(source, line))[0])

    def _numbered(self, source: Source, line: int, text: str) -> Text:
        cell = source.cell_at(line)
        number = cell[1] if cell else line
        drawn = Text.assemble((f"{number:>{self._gutter}}{_BAR}", "cyan"), text)
        drawn.rstrip()
        return drawn

    def _shown(self, text: str) -> str:
        """Text as the terminal can show it, character for character."""
        return clean(text).encode(self._encoding, "replace").decode(self._encoding)

    def _laid_out(self, line: str) -> tuple[str, list[int]]:
        """A line with its tabs spread, and for each code point, and the end, the cell where it starts."""
        line = self._shown(line)
        if line.isascii() and "\t" not in line:
            return line, list(range(len(line) + 1))
        text = ""
        offsets = []
        for character in line:
            offsets.append(cell_len(text))
            text += " " * (_TAB - offsets[-1] % _TAB) if character == "\t" else character
        return text, [*offsets, cell_len(text)]


def _original(source: Source, line: int) -> str:
    """A line as the user wrote it: in the program of a notebook magics are blank."""
    cell = source.cell_of(line)
    if cell is None:
        return source.lines[line - 1] if line <= len(source.lines) else ""
    return split_lines(cell.text)[line - cell.first_line]


def _window(offsets: list[int], underline: _Underline, limit: int) -> int:
    """The first cell to show of a line that is too long, so that the mark is in sight."""
    if offsets[-1] <= limit:
        return 0
    start = offsets[min(underline.start, len(offsets) - 1)]
    end = offsets[min(underline.end, len(offsets) - 1)]
    return 0 if end <= limit else max(0, start - limit // 4)


def _cropped(text: str, offsets: list[int], start: int, limit: int) -> tuple[str, list[int]]:
    """Cuts a line to `limit` cells from `start` on, and moves the offsets along."""
    if offsets[-1] <= limit:
        return text, offsets
    kept = ""
    width = 0
    position = 0
    for character in text:
        size = cell_len(character)
        if position >= start and width + size <= limit:
            kept += character
            width += size
        position += size
    return kept, [min(max(offset - start, 0), width) for offset in offsets]
