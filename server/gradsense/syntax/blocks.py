"""Logical lines to statements, by indentation and first words alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradsense.syntax import headers
from gradsense.syntax.scanner import Unit


@dataclass(slots=True)
class Clause:
    """A header and the units of its suite, by index: `first` up to `end`, which are equal where there is none."""

    kind: str
    head: int
    first: int
    end: int


@dataclass(slots=True)
class Statement:
    """Units `first` up to `end`: decorators, then clauses; a simple statement is one clause of kind "".

    `misplaced` is true if it does not stand where its block does.
    """

    first: int
    end: int
    decorators: list[int]
    clauses: list[Clause]
    misplaced: bool

    @property
    def is_simple(self) -> bool:
        """True if the statement is one unit that opens no block."""
        return not self.decorators and len(self.clauses) == 1 and not self.clauses[0].kind


def statements(units: Sequence[Unit], first: int, end: int, code: Callable[[int], str]) -> list[Statement]:
    """The statements of one block, which `units[first:end]` are; `code` gives a unit's text.

    What stands deeper than a simple statement above it is taken for the block's own, misplaced.
    """
    result: list[Statement] = []
    base = units[first].indent if first < end else 0
    index = first
    while index < end:
        statement = _statement(units, index, end, code)
        statement.misplaced = units[index].indent != base
        result.append(statement)
        index = statement.end
    return result


def _statement(units: Sequence[Unit], first: int, end: int, code: Callable[[int], str]) -> Statement:
    indent = units[first].indent
    index = first
    kind = headers.word(code(index))
    decorators: list[int] = []
    while kind == headers.DECORATOR:
        decorators.append(index)
        index += 1
        if index == end or units[index].indent != indent:
            return Statement(first, index, decorators, [], False)
        kind = headers.word(code(index))
    if decorators and kind not in ("def", "class"):
        return Statement(first, index, decorators, [], False)
    if not kind:
        return Statement(first, index + 1, decorators, [Clause("", index, index + 1, index + 1)], False)
    clauses: list[Clause] = []
    opener = kind
    while True:
        head = index
        index += 1
        suite = index
        while index < end and units[index].indent > indent:
            index += 1
        clauses.append(Clause(kind, head, suite, index))
        if index == end or units[index].indent != indent:
            break
        following = headers.word(code(index))
        if not headers.follows(kind, opener, following):
            break
        kind = following
    return Statement(first, index, decorators, clauses, False)
