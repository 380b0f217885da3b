"""Bytes of a source file to text, as Python reads them, and never an exception."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from gradsense.syntax.spans import Problem

# PEP 263: the declaration stands on the first or second line, and on the second only below a comment or blank line.
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")

# Longest mark first: the UTF-32 one begins with the UTF-16 one.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the codec and byte order mark that turn it back into the same bytes, and what was odd."""

    text: str
    encoding: str
    bom: bytes
    problems: tuple[Problem, ...]


def decode(data: bytes) -> Decoded:
    """Decode by byte order mark, PEP 263 declaration or UTF-8, and by Latin-1 where none of these fits."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode_marked(data[len(bom) :], encoding, bom)
    guessed = _bare_utf16(data)
    if guessed is not None:
        return _decode_marked(data, guessed, b"")
    declared = _cookie(data)
    problems: list[Problem] = []
    if declared is not None:
        try:
            if "a#".encode(declared) != b"a#":
                raise LookupError(declared)
            return Decoded(data.decode(declared), declared, b"", ())
        except (LookupError, ValueError) as error:
            problems.append(Problem(1, f"cannot decode this file as it declares, {declared}: {_reason(error)}"))
    try:
        return Decoded(data.decode(), "utf-8", b"", tuple(problems))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "this file is not UTF-8 and was read as Latin-1; save it as UTF-8, or declare its encoding in line 1"
        return Decoded(data.decode("latin-1"), "latin-1", b"", (*problems, Problem(line, message)))


def _decode_marked(body: bytes, encoding: str, bom: bytes) -> Decoded:
    problems: list[Problem] = []
    if encoding != "utf-8":
        name = encoding[:6].upper()
        problems.append(Problem(1, f"this file is {name}, which Python does not run; save it as UTF-8"))
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        text = body.decode(encoding, "replace")
        problems.append(Problem(1, f"some bytes of this file do not fit its byte order mark: {_reason(error)}"))
    return Decoded(text, encoding, bom, tuple(problems))


def _bare_utf16(data: bytes) -> str | None:
    """Python source never holds NUL bytes, so a NUL beside nearly every character is UTF-16 without its mark."""
    head = data[:4096]
    if len(head) < 4 or len(data) % 2 or b"\0" not in head:
        return None
    half = len(head) // 2
    if head[1::2].count(0) > 0.9 * half and head[0::2].count(0) == 0:
        return "utf-16-le"
    if head[0::2].count(0) > 0.9 * half and head[1::2].count(0) == 0:
        return "utf-16-be"
    return None


def _cookie(data: bytes) -> str | None:
    head = re.split(rb"\r\n|\r|\n", data[:1024])[:2]
    for line in head:
        found = _COOKIE.match(line)
        if found:
            # Emacs appends the line ends: utf-8-unix.
            return re.sub(r"-(?:unix|dos|mac)$", "", found.group(1).decode("ascii"))
        if not _BLANK.match(line):
            return None
    return None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} at offset {error.start}"
    return "no such encoding for source text" if isinstance(error, LookupError) else str(error)
