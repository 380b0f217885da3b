"""IPython's additions to Python: magics, shell lines and help requests in the cells of a notebook."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from gradsense.syntax.draft import attempt
from gradsense.syntax.edits import line_starts, split_lines
from gradsense.syntax.scanner import Unit, scan
from gradsense.syntax.source import UNKNOWN, Rewrite

# Cell magics that run the cell as Python in the notebook's own namespace; every other one hides the cell.
_PYTHON_CELLS = frozenset(
    {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "debug", "wandb", "snakeviz", "pyinstrument"}
    | {"scalene", "profile", "heat", "gradsense"}
)
# Line magics that run the statement behind them, and which of their options take a value.
_STATEMENT_MAGICS = {"time": "", "timeit": "nrpv", "prun": "lsTD", "memit": "rti", "debug": "b", "snakeviz": "f"}

_CELL_MAGIC = re.compile(r"%%\s*(\w+)")
_LINE_MAGIC = re.compile(r"(?P<indent>[ \t]*)%(?P<name>\w+)[ \t]+")
_ASSIGNMENT = re.compile(
    r"(?P<target>[ \t]*[^\W\d][\w.]*(?:\[[^\]]*\])?(?:[ \t]*,[ \t]*[\w.]+)*[ \t]*=[ \t]*)[!%](?=[\w!~./{$])"
)
_HELP = re.compile(r"[ \t]*%{0,2}[^\W\d*][\w.*]*(?:\[[^\]]*\])?[ \t]*\?{1,2}[ \t]*(?:#.*)?$")
_INSTALL = re.compile(r"[ \t]*(?:pip|conda|mamba)3?[ \t]+(?:install|uninstall)\b(?![ \t]*[=(.])")


@dataclass(slots=True)
class Masked:
    """A cell's Python: everything else is spaces, and `rewrites` (by line from 0) says what to parse for lines that
    are not Python as they stand."""

    text: str
    rewrites: dict[int, Rewrite] = field(default_factory=dict)


def mask(text: str) -> Masked:
    """Blank what IPython would take out of a cell; each character that stays keeps its line and column.

    The statement behind `%time` and its like stays. `x = !ls` and `x = %magic` leave an unknown value.
    """
    if not any(mark in text for mark in "%!?") and not _INSTALL.search(text):
        return Masked(text)
    return _Masker(text).run()


class _Masker:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = split_lines(text)
        self._rewrites: dict[int, Rewrite] = {}

    def run(self) -> Masked:
        if not self._leave_cell_magics():
            return Masked(self._joined())
        given = {index: self._continued(index) for index, line in enumerate(self._lines) if _is_magic(line)}
        for unit in scan(self._lines, given=given).units:
            if unit.first in given:
                self._mask_unit(unit)
        return Masked(self._joined(), self._rewrites)

    def _leave_cell_magics(self) -> bool:
        """Blank the cell magics at the top, or all of the cell if one of them means that it is not Python."""
        for index, line in enumerate(self._lines):
            if not line.strip():
                continue
            if not line.startswith("%%"):
                return True
            found = _CELL_MAGIC.match(line)
            if found is None or found.group(1) not in _PYTHON_CELLS:
                self._blank(0, len(self._lines) - 1)
                return False
            self._blank(index, index)
        return True

    def _mask_unit(self, unit: Unit) -> None:
        line = self._lines[unit.first]
        if found := _ASSIGNMENT.match(line):
            target = found["target"]
            self._blank(unit.first, unit.last)
            self._lines[unit.first] = (target + "_").ljust(len(line))
            self._rewrites[unit.first] = Rewrite(target + UNKNOWN)
            return
        found = _LINE_MAGIC.match(line)
        if found and found["name"] in _STATEMENT_MAGICS:
            start = _behind_options(line, found.end(), _STATEMENT_MAGICS[found["name"]])
            statement = "\n".join([line[start:], *self._lines[unit.first + 1 : unit.last + 1]])
            if line[start:].strip() and isinstance(attempt(statement), ast.Module):
                indent = found["indent"]
                self._lines[unit.first] = " " * start + line[start:]
                self._rewrites[unit.first] = Rewrite(indent + line[start:], len(indent) - start)
                return
        self._blank(unit.first, unit.last)
        if unit.indent:
            # It may be all that its block holds.
            indent = line[: len(line) - len(line.lstrip())]
            self._rewrites[unit.first] = Rewrite(indent + "pass")

    def _continued(self, index: int) -> int:
        while self._lines[index].endswith("\\") and index + 1 < len(self._lines):
            index += 1
        return index

    def _blank(self, first: int, last: int) -> None:
        for index in range(first, last + 1):
            self._lines[index] = " " * len(self._lines[index])

    def _joined(self) -> str:
        starts = line_starts(self._text)
        ends = [*starts[1:], len(self._text)]
        lengths = map(len, split_lines(self._text))
        newlines = (self._text[start + length : end] for start, length, end in zip(starts, lengths, ends, strict=True))
        return "".join(line + newline for line, newline in zip(self._lines, newlines, strict=True))


def _is_magic(line: str) -> bool:
    stripped = line.lstrip(" \t")
    if stripped[:1] in ("%", "!", "?"):
        return True
    if ("!" in line or "%" in line) and _ASSIGNMENT.match(line):
        return True
    return ("?" in line and _HELP.match(line) is not None) or _INSTALL.match(line) is not None


def _behind_options(line: str, start: int, valued: str) -> int:
    """The column of the statement behind a magic's options."""
    option = re.compile(rf"-(?:[{valued}][ \t]*\S+|[a-zA-Z]+)[ \t]+" if valued else r"-[a-zA-Z]+[ \t]+")
    while found := option.match(line, start):
        start = found.end()
    return start
