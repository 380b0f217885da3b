"""Python of other versions: what it looks like where the running Python cannot read it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

# Statements of Python 2 at the start of a line or behind the colon of a header; then expressions of it anywhere.
_PYTHON2_STATEMENT = re.compile(
    r"""(?:[^"'#\n]*:)?[ \t]*(?:"""
    r"""print(?:[ \t]+(?!(?:in|is|if|and|or|not|for)\b)[\w"'`]|[ \t]*>>[ \t]*\w|[ \t]*\([^\n]*\)[ \t]*%[ \t]*[\w(])"""
    r"""|exec[ \t]+[\w"']"""
    r"""|except\b[^:\n]*,[ \t]*[a-z_]\w*[ \t]*:"""
    r"""|raise[ \t]+[\w.]+[ \t]*,)"""
)
_PYTHON2_EXPRESSION = re.compile(
    r"""`[\w.]+`|[\w)][ \t]*<>[ \t]*[\w(]|\b\d+[lL]\b|\bur["']|\b0+[1-7][0-7]*\b(?![.\w])"""
)
_STRING_OR_COMMENT = re.compile(r"""#.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
_TYPE_PARAMETERS = re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*(\[)")
_TYPE_ALIAS = re.compile(r"[ \t]*type[ \t]+\w+[ \t]*(?:\[.*\])?[ \t]*=", re.S)
_EXCEPT_STAR = re.compile(r"[ \t]*except[ \t]*(\*)")
_TEMPLATE = re.compile(r"(?<![\w\"'])(?:t|T)(?=[rR]?[\"'])|(?<=(?<![\w\"'])[rR])[tT](?=[\"'])")
_FSTRING = re.compile(r"(?<![\w\"'])(?:[fF][rR]?|[rR][fF])[\"']")
_STAR_INDEX = re.compile(r"\w\[[^\]\n]*\*\w|\*\w+[ \t]*:[ \t]*\*")
_EXCEPT_LIST = re.compile(r"[ \t]*except([ \t])[^(:]*,[ \t]*[\w.]*[A-Z][^(:]*(:)$")

_WITHOUT = "read without them"


@dataclass(frozen=True, slots=True)
class Newer:
    """Syntax that needs a newer Python: what it is called, a text of the same shape that the running one reads (or
    None), and what becomes of the statement."""

    feature: str
    version: tuple[int, int]
    text: str | None = None
    outcome: str = "this statement is left out"

    def message(self) -> str:
        """What to tell the person."""
        needed, running = (".".join(map(str, version[:2])) for version in (self.version, sys.version_info))
        return f"{self.feature} need Python {needed}, and GradSense runs on {running}: {self.outcome}"


def is_python2(text: str) -> bool:
    """True if a statement that does not parse looks like one that does so in Python 2."""
    if _PYTHON2_STATEMENT.match(text):
        return True
    return "\n" not in text and _PYTHON2_EXPRESSION.search(_STRING_OR_COMMENT.sub("''", text)) is not None


def python3_header(text: str) -> str | None:
    """An `except E, e:` of Python 2 as Python 3 writes it."""
    changed = re.sub(r"(except\b[^:]*?\S)[ \t]*,[ \t]*([a-z_]\w*)[ \t]*:", r"\1 as \2:", text, count=1)
    return None if changed == text else changed


def newer_syntax(text: str, message: str) -> Newer | None:
    """Recognise a statement, given with Python's `message` about it, that only a Python newer than this one reads."""
    found = _recognise(text, message)
    # A version that runs here reads it, so something else must be wrong.
    return None if found is None or found.version <= sys.version_info[:2] else found


def _recognise(text: str, message: str) -> Newer | None:
    if match := _TYPE_PARAMETERS.match(text):
        end = _matching(text, match.start(1))
        version = (3, 12) if sys.version_info < (3, 12) else (3, 13)
        if end is None:
            return Newer("type parameters", version)
        return Newer("type parameters", version, _blank(text, match.start(1), end), _WITHOUT)
    if _TYPE_ALIAS.match(text):
        return Newer("`type` statements", (3, 12))
    if match := _EXCEPT_STAR.match(text):
        return Newer("`except*` clauses", (3, 11), _blank(text, match.start(1), match.end(1)), "read as `except`")
    if _TEMPLATE.search(text):
        return Newer("template strings", (3, 14), _TEMPLATE.sub("f", text), "read as f-strings")
    if _FSTRING.search(text) and sys.version_info < (3, 12) and _breaks_fstring(text, message):
        return Newer("quotes, backslashes and comments within the braces of an f-string", (3, 12))
    if _STAR_INDEX.search(text):
        return Newer("unpacking in a subscript or in an annotation of *args", (3, 11))
    if match := _EXCEPT_LIST.match(text):
        space, colon = match.start(1), match.start(2)
        text = f"{text[:space]}({text[space + 1 : colon]}):"
        return Newer("exceptions listed without parentheses", (3, 14), text, "read as if they had them")
    return None


def _breaks_fstring(text: str, message: str) -> bool:
    """Older Pythons end an f-string at the first quote of its kind, wherever that stands."""
    if message.startswith("f-string"):
        return True
    return re.search(r"""[fF][rR]?(["'])(?:(?!\1)[^{\n])*\{(?:(?!\1)[^}\n])*\1""", text) is not None


def _matching(text: str, start: int) -> int | None:
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "[") - (text[position] == "]")
        if depth == 0:
            return position + 1
    return None


def _blank(text: str, start: int, end: int) -> str:
    """Spaces for what lies between, as many as it has bytes, and its line ends."""
    middle = "".join(char if char == "\n" else " " * len(char.encode()) for char in text[start:end])
    return text[:start] + middle + text[end:]
