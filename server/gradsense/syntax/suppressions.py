"""Comments by which a program tells GradSense to be quiet: `# gradsense: ignore[GS301]` and its relatives."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from gradsense.syntax.scanner import scan
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Problem, Span

_DIRECTIVE = re.compile(
    r"#\s*gradsense:\s*(?P<word>[\w-]*)(?:\s*(?P<list>\[(?P<codes>[^\]#]*)(?P<close>\]?)))?", re.IGNORECASE
)
_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment's wish: hide findings with these codes (all, if there are none) that begin on these lines."""

    span: Span
    codes: tuple[str, ...]
    first_line: int
    last_line: int
    whole_file: bool

    def covers(self, code: str, line: int) -> bool:
        """True if a finding with this code that begins on this line is to be hidden."""
        return self.first_line <= line <= self.last_line and (not self.codes or code in self.codes)


class Suppressions:
    """All of a source's comments of this kind, and which of them have hidden something.

    A comment stands for the whole statement, or header, that its line belongs to; `ignore-file` for the file.
    `mistakes` are comments that look like one and are not understood.
    """

    def __init__(self, items: tuple[Suppression, ...], mistakes: tuple[Problem, ...] = ()) -> None:
        """Prefer `Suppressions.of`."""
        self.items = items
        self.mistakes = mistakes
        self._used: set[tuple[Suppression, str]] = set()

    @classmethod
    def of(cls, source: Source) -> Suppressions:
        """Find the comments; those inside strings are none."""
        if _DIRECTIVE.search(source.text) is None:
            return cls(())
        found = scan(source.lines, [cell.first_line - 1 for cell in source.cells])
        starts = [unit.first for unit in found.units]
        items: list[Suppression] = []
        mistakes: list[Problem] = []
        for index, column in found.comments:
            position = bisect_right(starts, index) - 1
            first = last = index
            if position >= 0 and found.units[position].last >= index:
                first, last = found.units[position].first, found.units[position].last
            for match in _DIRECTIVE.finditer(source.lines[index], column):
                item = _read(match, index, first, last, len(source.lines))
                if isinstance(item, Suppression):
                    items.append(item)
                else:
                    mistakes.append(item)
        return cls(tuple(items), tuple(mistakes))

    def hides(self, code: str, line: int) -> bool:
        """True if a finding with this code that begins on this line is to be hidden; notes who hid it."""
        hidden = False
        for item in self.items:
            if item.covers(code, line):
                self._used.add((item, code))
                hidden = True
        return hidden

    def unused(self) -> list[tuple[Suppression, tuple[str, ...]]]:
        """The comments that hid nothing in any call of `hides`, each with the codes that it could do without.

        A comment without codes comes with none.
        """
        result: list[tuple[Suppression, tuple[str, ...]]] = []
        used_items = {item for item, _ in self._used}
        for item in self.items:
            codes = tuple(code for code in item.codes if (item, code) not in self._used)
            if codes or (not item.codes and item not in used_items):
                result.append((item, codes))
        return result


def _read(match: re.Match[str], index: int, first: int, last: int, lines: int) -> Suppression | Problem:
    word = match["word"].lower()
    if word not in ("ignore", "ignore-file"):
        return Problem(
            index + 1, "this comment is not understood; write `# gradsense: ignore[CODE]` or `# gradsense: ignore-file`"
        )
    codes: tuple[str, ...] = ()
    if match["list"] is not None:
        if not match["close"]:
            return Problem(index + 1, "the list of codes in this comment has no closing bracket")
        codes = tuple(dict.fromkeys(code.upper() for code in _SEPARATOR.split(match["codes"]) if code))
        if not codes:
            return Problem(index + 1, "this comment names no codes; without the brackets it would mean all of them")
    span = Span(index + 1, match.start(), index + 1, len(match.string[: match.end()].rstrip()))
    if word == "ignore-file":
        return Suppression(span, codes, 1, lines, True)
    return Suppression(span, codes, first + 1, last + 1, False)
