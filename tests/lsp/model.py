"""How an editor edits text: slow and plain, counting in encoded bytes, to hold the server's way against."""

from __future__ import annotations

import re

from lsprotocol import types

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_LINE_END = re.compile("\r\n|\r|\n")


def replaced(text: str, place: types.Range, new_text: str, encoding: str) -> str:
    """The text after one edit."""
    start, end = offset(text, place.start, encoding), offset(text, place.end, encoding)
    start, end = min(start, end), max(start, end)
    return text[:start] + new_text + text[end:]


def offset(text: str, position: types.Position, encoding: str) -> int:
    """The index of a position; past the end of a line or of the text it means that end."""
    ends = [match.span() for match in _LINE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    stop = ends[position.line][0] if position.line < len(ends) else len(text)
    codec, width = _CODECS[encoding]
    encoded = text[start:stop].encode(codec)
    # Half a UTF-16 pair decodes to nothing, which puts it where it belongs.
    return start + len(encoded[: position.character * width].decode(codec, "ignore"))
