"""Mending a whole buffer: the text in memory as the mender takes it, and the outcome as edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from gradsense.files import File, with_newline
from gradsense.syntax import Source, Span, TextEdit, apply_edits
from gradsense.syntax.edits import line_starts
from gradsense.syntax.notebook import localise


@dataclass(frozen=True)
class Buffer(File):
    """A text that an editor holds: decoded already, whatever encoding it declares for its file."""

    @classmethod
    def of_source(cls, source: Source) -> Buffer:
        """Takes up a source."""
        return cls(source.text.encode("utf-8", "surrogatepass"), source)

    def edited(self, edits: Sequence[TextEdit]) -> Buffer:
        """The buffer after edits in terms of its source.

        Raises:
            ValueError: they overlap or leave the text.
        """
        source = self.source
        adapted = [replace(edit, new_text=with_newline(edit.new_text, source.newline)) for edit in edits]
        return Buffer.of_source(Source(source.path, apply_edits(source.text, adapted), bom=source.bom))


@dataclass(frozen=True)
class NotebookBuffer(File):
    """A notebook's cells as an editor holds them."""

    @classmethod
    def of_source(cls, source: Source) -> NotebookBuffer:
        """Takes up a source that has cells."""
        return cls(b"", source)

    def edited(self, edits: Sequence[TextEdit]) -> NotebookBuffer:
        """The cells after edits in terms of their source.

        Raises:
            ValueError: they overlap, go from one cell into the next, or touch a magic.
        """
        source = self.source
        by_cell: dict[int, list[TextEdit]] = {}
        for edit in edits:
            cell, local = localise(source, edit)
            by_cell.setdefault(cell.index, []).append(local)
        texts = [(cell.index, apply_edits(cell.text, by_cell.get(cell.index, ()))) for cell in source.cells]
        return NotebookBuffer.of_source(Source.from_cells(source.path, texts))


def edits_between(path: str, before: str, after: str) -> Iterator[TextEdit]:
    """The edits of whole lines that make one text of another; lines that stay are left alone, and so are cursors."""
    old, new = _lines(before), _lines(after)
    for tag, first, end, new_first, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            span = Span(*_start(old, first), *_start(old, end))
            yield TextEdit(path, span, "".join(new[new_first:new_end]))


def _lines(text: str) -> list[str]:
    starts = line_starts(text)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _start(lines: Sequence[str], index: int) -> tuple[int, int]:
    return (index + 1, 0) if index < len(lines) else (len(lines), len(lines[-1]))
