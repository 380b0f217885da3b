"""Columns in code points, and in the units that `ast` (UTF-8) and editors (UTF-8, UTF-16 or UTF-32) count."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]


def byte_offsets(line: str) -> list[int]:
    """For each code point of `line` the UTF-8 offset at which it starts, and at the end the length in bytes."""
    return list(accumulate(map(_utf8_width, line), initial=0))


def column_at(offsets: list[int], byte: int) -> int:
    """The code point that holds byte offset `byte`, from the table that `byte_offsets` made; clamped to the line."""
    return max(bisect_right(offsets, byte) - 1, 0)


def encode_column(line: str, column: int, encoding: Encoding) -> int:
    """Code-point `column` of `line` counted in units of `encoding`; columns behind the end mean the end."""
    column = max(0, min(column, len(line)))
    if encoding == "utf-32" or line.isascii():
        return column
    head = line[:column]
    if encoding == "utf-8":
        return sum(map(_utf8_width, head))
    return column + sum(char > "\uffff" for char in head)


def decode_column(line: str, units: int, encoding: Encoding) -> int:
    """The inverse of `encode_column`; a position inside a character means its start."""
    if encoding == "utf-32" or line.isascii():
        return max(0, min(units, len(line)))
    width = _utf8_width if encoding == "utf-8" else _utf16_width
    seen = 0
    for column, char in enumerate(line):
        seen += width(char)
        if seen > units:
            return column
    return len(line)


def _utf8_width(char: str) -> int:
    if char < "\x80":
        return 1
    if char < "\u0800":
        return 2
    return 3 if char <= "\uffff" else 4


def _utf16_width(char: str) -> int:
    return 2 if char > "\uffff" else 1
