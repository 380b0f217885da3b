"""A tolerant look at a program's lines: which belong to one statement, how deep it stands, where comments are.

Python's own tokenizer stops at the first error; this one goes on. It knows strings, comments, brackets and
backslashes, and nothing of grammar.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<comment>\#.*)"""
    r"""|(?P<triple>\"{3}|'{3})"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*(?P<double>"|\\?$)|'(?:[^'\\]|\\.)*(?P<single>'|\\?$))"""
    r"""|(?P<open>[(\[{])"""
    r"""|(?P<close>[)\]}])"""
)
_TRIPLE_END = {quote: re.compile(rf"\\.|({quote})") for quote in ('"""', "'''")}
_STRING_END = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*({quote}|\\?$)") for quote in "\"'"}
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_MARKS = frozenset("#\"'()[]{}\\")

# A line that starts so cannot continue an expression, so an open bracket above it was never closed.
_STOP = re.compile(
    r"[ \t]*(?:(?:def|class|return|import|while|with|try|except|finally|raise|del|pass|break|continue|global|nonlocal"
    r"|assert|elif)\b|@\w|from\s+[\w.]+\s+import\b|else\s*:|async\s+(?:def|with)\b|(?:if|for)\b[^#]*:\s*(?:#.*)?$)"
)
_HEADER = re.compile(
    r"[ \t\f]*(?:(?:async\s+)?(?:if|elif|else|for|while|with|def|class|try|except|finally)\b"
    r"|(?:match|case)[ \t]+[^=\s])"
)
_COLON_END = re.compile(r":\s*(?:#.*)?$")
_CODE = re.compile(
    r"[ \t]*(?:(?:async )?def \w+ *\(|class \w+ *[:(]|return\b|import \w|from [\w.]+ import |(?:if|for|with|while) .*:$"
    r"|[\w.]+(?:, [\w.]+)* [-+*/]?= \S)"
)

# CPython refuses more open brackets than this.
_MAX_BRACKETS = 200
# How many lines a broken header is searched for its colon.
_MAX_HEADER = 40


@dataclass(slots=True)
class Unit:
    """A logical line: a simple statement, or the header of a compound one (with what follows on its lines).

    `first` and `last` are indices of physical lines from 0, `indent` the width of the leading blanks with tabs to the
    next multiple of eight, `comment` the column of the comment on the last line or -1, `broken` true if a bracket or
    string in it does not close.
    """

    first: int
    last: int
    indent: int
    comment: int = -1
    broken: bool = False


@dataclass(slots=True)
class Scan:
    """What `scan` found: logical lines, and all comments as (physical line from 0, column)."""

    units: list[Unit] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)


def indent_width(line: str) -> int:
    """Width of the leading blanks as Python counts it."""
    width = 0
    for char in line:
        if char == " ":
            width += 1
        elif char == "\t":
            width = (width // 8 + 1) * 8
        elif char == "\f":
            width = 0
        else:
            break
    return width


def scan(lines: Sequence[str], stops: Collection[int] = (), given: Mapping[int, int] | None = None) -> Scan:
    """Split `lines` into logical lines.

    No statement, bracket or string crosses a line whose index is in `stops`. Where a statement starts on a line in
    `given`, it ends on the line that `given` names, whatever it holds. Takes time linear in the text: how many lines
    may be looked at again after a bracket or string that never closes is limited.
    """
    return _Scanner(lines, stops, given or {}).run()


def unclosed(text: str) -> str | None:
    """The closing brackets that `text` lacks, innermost first; None if a string or a bracket in it is wrong."""
    stack: list[str] = []
    position = 0
    while found := _TOKEN.search(text, position):
        position = found.end()
        kind = found.lastgroup
        if kind == "open":
            stack.append(_CLOSER[found.group()])
        elif kind == "close":
            if not stack or stack.pop() != found.group():
                return None
        elif kind == "triple":
            end = next((end for end in _TRIPLE_END[found.group()].finditer(text, position) if end.group(1)), None)
            if end is None:
                return None
            position = end.end()
        elif kind == "string" and not (found["single"] or found["double"] or "").strip("\\"):
            return None
    return "".join(reversed(stack))


def without_comment(line: str) -> str:
    """`line` up to its comment, for a line that starts outside of strings."""
    position = 0
    while found := _TOKEN.search(line, position):
        if found.lastgroup == "comment":
            return line[: found.start()]
        position = found.end()
        if found.lastgroup == "triple":
            end = next((end for end in _TRIPLE_END[found.group()].finditer(line, position) if end.group(1)), None)
            position = len(line) if end is None else end.end()
    return line


class _Scanner:
    def __init__(self, lines: Sequence[str], stops: Collection[int], given: Mapping[int, int]) -> None:
        self._lines = lines
        self._stops = frozenset(stops)
        self._given = given
        self._result = Scan()
        self._unit: Unit | None = None
        self._brackets: list[str] = []
        self._quote = ""
        # Lines of the triple quotes since the last stop, by kind; they open and close in turn.
        self._quotes: dict[str, list[int]] = {'"""': [], "'''": []}
        # First and last line of each string of several lines in the open unit.
        self._strings: list[tuple[int, int]] = []
        self._string_start = 0
        self._spare = 2 * len(lines) + 200

    def run(self) -> Scan:
        index = 0
        count = len(self._lines)
        while True:
            if index == count or index in self._stops:
                if self._unit is not None:
                    index = self._cut(index)
                    continue
                for places in self._quotes.values():
                    places.clear()
                if index == count:
                    return self._result
            line = self._lines[index]
            if self._unit is None:
                stripped = line.lstrip(" \t\f")
                if not stripped or stripped[0] == "#":
                    if stripped:
                        self._result.comments.append((index, len(line) - len(stripped)))
                    index += 1
                    continue
                self._unit = Unit(index, index, indent_width(line))
                if index in self._given:
                    index = self._given[index] + 1
                    self._end(index - 1, -1)
                    continue
            elif self._brackets and not self._quote and self._interrupts(line):
                index = self._cut(index)
                continue
            self._read(index, line, self._unit)
            index += 1

    def _interrupts(self, line: str) -> bool:
        """True if `line` must be a new statement though brackets are open."""
        if _STOP.match(line):
            return True
        # With nothing to spare for looking again, the indentation decides at once.
        return self._spare <= 0 and self._unit is not None and _is_sibling(line, self._unit.indent)

    def _read(self, index: int, line: str, unit: Unit) -> None:
        """Take a line into the open unit, and end the unit where the line ends it."""
        position = 0
        comment = -1
        if self._quote:
            position = self._leave_string(index, line, 0, unit)
            if position < 0:
                return
        elif _MARKS.isdisjoint(line):
            if not self._brackets:
                self._end(index, -1)
            return
        while found := _TOKEN.search(line, position):
            position = found.end()
            kind = found.lastgroup
            if kind == "open":
                self._brackets.append(_CLOSER[found.group()])
                if len(self._brackets) > _MAX_BRACKETS:
                    unit.broken = True
            elif kind == "close":
                self._close(found.group(), unit)
            elif kind == "triple":
                self._quote = found.group()
                self._quotes[self._quote].append(index)
                self._string_start = index
                position = self._leave_string(index, line, position, unit)
                if position < 0:
                    return
            elif kind == "string":
                end = found["single"] if found["double"] is None else found["double"]
                if end == "\\":
                    self._quote = found.group()[0]
                    self._string_start = index
                    return
                if not end:
                    unit.broken = True
            else:
                comment = found.start()
                self._result.comments.append((index, comment))
        if not self._brackets and (comment >= 0 or not line.endswith("\\")):
            self._end(index, comment)

    def _leave_string(self, index: int, line: str, position: int, unit: Unit) -> int:
        """Look for the end of the open string; the column behind it, or -1 if the string goes on below."""
        quote = self._quote
        end = -1
        if len(quote) == 3:
            for found in _TRIPLE_END[quote].finditer(line, position):
                if found.group(1):
                    end = found.end()
                    self._quotes[quote].append(index)
                    break
        else:
            closed = _STRING_END[quote].match(line, position)
            if closed is None or closed.group(1) == "":
                unit.broken = True
                end = len(line)
            elif closed.group(1) == quote:
                end = closed.end()
        if end >= 0:
            self._quote = ""
            if self._string_start < index:
                self._strings.append((self._string_start, index))
        return end

    def _close(self, closer: str, unit: Unit) -> None:
        stack = self._brackets
        if stack and stack[-1] == closer:
            stack.pop()
            return
        unit.broken = True
        if closer in stack:
            while stack.pop() != closer:
                pass

    def _end(self, last: int, comment: int) -> None:
        unit = self._unit
        if unit is not None:
            unit.last = last
            unit.comment = comment
            self._result.units.append(unit)
        self._unit = None
        self._brackets.clear()
        self._strings.clear()
        self._quote = ""

    def _cut(self, index: int) -> int:
        """End the open unit above line `index` because something in it stayed open; the line to go on from."""
        unit = self._unit
        assert unit is not None
        if not self._quote and not self._brackets:
            # Only a backslash: there is nothing below that it could have swallowed.
            self._end(index - 1, -1)
            return index
        unit.broken = True
        if self._spare <= 0:
            last = index - 1
        elif len(self._quote) == 3:
            last = self._surplus_quote(index)
        elif _HEADER.match(self._lines[unit.first]):
            last = self._header_end(unit, index)
        else:
            last = self._indented_end(unit, index)
        self._spare -= index - 1 - last
        self._forget(last)
        self._end(last, -1)
        return last + 1

    def _header_end(self, unit: Unit, index: int) -> int:
        for line in range(unit.first, min(index, unit.first + _MAX_HEADER)):
            text = self._lines[line]
            if line > unit.first and _is_sibling(text, unit.indent):
                break
            if _COLON_END.search(text):
                return line
        return unit.first

    def _indented_end(self, unit: Unit, index: int) -> int:
        last = unit.first
        strings = iter(self._strings)
        string = next(strings, None)
        while last + 1 < index:
            if string is not None and last >= string[0]:
                last = string[1]
                string = next(strings, None)
            elif _is_sibling(self._lines[last + 1], unit.indent):
                break
            else:
                last += 1
        return min(last, index - 1)

    def _surplus_quote(self, index: int) -> int:
        """The line of the triple quote that has no partner.

        An odd number of quotes says that one is too many, not which. Taking one out turns code into string and string
        into code behind it: the one to take leaves the fewest lines that look like code inside strings.
        """
        places = self._quotes[self._quote]
        self._spare -= index - places[0]
        bounds = [*places, index]
        counts = [sum(map(self._looks_like_code, range(start + 1, end))) for start, end in pairwise(bounds)]
        # Without quote k, the strings are the even gaps before it and the odd gaps behind it.
        inside = sum(counts[1::2])
        best, fewest = 0, inside
        for k in range(2, len(places), 2):
            inside += counts[k - 2] - counts[k - 1]
            if inside <= fewest:
                best, fewest = k, inside
        return places[best]

    def _looks_like_code(self, line: int) -> bool:
        return _CODE.match(self._lines[line]) is not None

    def _forget(self, last: int) -> None:
        """Drop what was noted of lines below `last`; the open unit becomes the one that holds `last`."""
        units = self._result.units
        while self._unit is not None and self._unit.first > last:
            self._unit = units.pop()
            self._unit.broken = True
        comments = self._result.comments
        while comments and comments[-1][0] > last:
            comments.pop()
        for places in self._quotes.values():
            while places and places[-1] > last:
                places.pop()
        places = self._quotes.get(self._quote, [])
        if len(places) % 2:
            places.pop()


def _is_sibling(line: str, indent: int) -> bool:
    """True if `line` holds code that stands no deeper than `indent` and does not close a bracket."""
    stripped = line.lstrip(" \t\f")
    return bool(stripped) and stripped[0] not in ")]}#" and indent_width(line) <= indent
