"""The text that is handed to Python's parser in place of a source's own, and parsing itself."""

from __future__ import annotations

import ast
import gc
import warnings
from dataclasses import dataclass, field

from gradsense.syntax.source import Source
from gradsense.syntax.spans import Problem

# Python names a warning about a text after the file it was told, so a filter for this name concerns nothing else.
_FILE = "<gradsense source>"

Failure = SyntaxError | ValueError | RecursionError | MemoryError


@dataclass(slots=True)
class Draft:
    """Lines that stand for a source's lines, one for one.

    A statement that stays starts where it did in the source, plus `shifts` bytes in the lines (by index from 0) whose
    indentation was changed.
    """

    lines: list[str]
    shifts: dict[int, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def of(cls, source: Source) -> Draft:
        """The source's lines, with what stands for its magics."""
        draft = cls(list(source.lines))
        for line, rewrite in source.rewrites.items():
            draft.lines[line - 1] = rewrite.text
            if rewrite.shift:
                draft.shifts[line - 1] = rewrite.shift
        return draft

    def indent(self, index: int, prefix: str) -> None:
        """Make `prefix` the indentation of a line."""
        line = self.lines[index]
        body = line.lstrip(" \t\f")
        change = len(prefix) - (len(line) - len(body))
        if change:
            self.shifts[index] = self.shifts.get(index, 0) + change
        self.lines[index] = prefix + body

    def replace(self, first: int, last: int, body: str) -> None:
        """Put `body` in place of the lines from `first` to `last`, at the indentation of the first."""
        self.lines[first] = self.prefix(first) + body
        for index in range(first + 1, last + 1):
            self.lines[index] = ""

    def prefix(self, index: int) -> str:
        """The indentation of a line."""
        line = self.lines[index]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def restore_columns(self, tree: ast.Module) -> None:
        """Undo in the tree's columns what `shifts` did to the lines."""
        if not self.shifts:
            return
        for node in ast.walk(tree):
            line = getattr(node, "lineno", None)
            if line is None:
                continue
            node.col_offset -= self.shifts.get(line - 1, 0)  # type: ignore[attr-defined]
            node.end_col_offset -= self.shifts.get(node.end_lineno - 1, 0)  # type: ignore[attr-defined]


def attempt(text: str) -> ast.Module | Failure:
    """Parse `text`, or say why not; Python's warnings about it are not shown."""
    _silence()
    # A parser only makes objects. To look through them for garbage, again and again, takes three times as long as that.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text, _FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # The traceback would keep the frames, and with them the text, alive.
        error.__traceback__ = None
        return error
    finally:
        if collecting:
            gc.enable()


def _silence() -> None:
    """See that a filter stands first that ignores warnings about `_FILE`.

    `warnings.catch_warnings` would set the filters of all threads back and forth; this one stays, and says nothing
    about other files. Others may have put filters before it or reset all of them, so look each time.
    """
    filters = warnings.filters
    if not filters or filters[0][0] != "ignore" or getattr(filters[0][3], "pattern", None) != _FILE:
        warnings.filterwarnings("ignore", category=Warning, module=_FILE)
