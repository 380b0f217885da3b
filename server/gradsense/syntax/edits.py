"""Text edits and their application."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradsense.syntax.spans import Span

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace `span` of the file `path` by `new_text`; an empty span inserts."""

    path: str
    span: Span
    new_text: str


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of `text` start, as Python and editors count lines."""
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def split_lines(text: str) -> list[str]:
    r"""The lines of `text` without their ends; only \n, \r\n and \r end a line, and a final newline leaves an
    empty last line."""
    return _NEWLINE.split(text) if "\r" in text else text.split("\n")


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply all edits at once, each in coordinates of the original `text`.

    Insertions at one place keep the order in which they are given. Raises ValueError if two edits overlap, belong
    to different files or point outside the text.
    """
    ordered = sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))
    if len({edit.path for edit in ordered}) > 1:
        raise ValueError("these edits belong to several files; apply them file by file")
    starts = line_starts(text)
    pieces: list[str] = []
    done = 0
    for edit in ordered:
        begin = _offset(text, starts, edit.span.start)
        end = _offset(text, starts, edit.span.end)
        if end < begin:
            raise ValueError(f"the edit at line {edit.span.line} ends before it starts")
        if begin < done:
            raise ValueError(f"two edits overlap at line {edit.span.line}")
        pieces += (text[done:begin], edit.new_text)
        done = end
    return "".join([*pieces, text[done:]])


def _offset(text: str, starts: Sequence[int], place: tuple[int, int]) -> int:
    line, column = place
    if not 1 <= line <= len(starts):
        raise ValueError(f"line {line} is outside the text, which has {len(starts)}")
    start = starts[line - 1]
    limit = len(text)
    if line < len(starts):
        limit = starts[line] - (2 if text[starts[line] - 2 : starts[line]] == "\r\n" else 1)
    if not 0 <= column <= limit - start:
        raise ValueError(f"column {column} is outside line {line}")
    return start + column
