"""Holds findings against lines that people have judged by hand."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surveying.checking import Outcome, Said, Spot

LOUD = ("error", "warning")


@dataclass(frozen=True)
class Row:
    """One judged line.

    Args:
        repository: the folder's name.
        path: the file in it.
        line: its line, or `cellN:line` with N the cell's place in the notebook.
        pattern: what drew attention to it.
        verdict: `fine`, `wasteful`, or `real-…`.
        reason: why.
    """

    repository: str
    path: str
    line: str
    pattern: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Judged:
    """A row, whether the findings agree with it, and what they said there."""

    row: Row
    agrees: bool
    said: tuple[str, ...]

    @property
    def kind(self) -> str:
        """`fine`, `wasteful` or `real`."""
        return self.row.verdict.partition("-")[0]


def read(path: str) -> list[Row]:
    """Reads a table with the columns repo, path, line, pattern, verdict, reason, parted by tabs."""
    with open(path, encoding="utf-8", newline="") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Row(r["repo"], r["path"], r["line"], r["pattern"], r["verdict"], r["reason"]) for r in table]


def judge(rows: Iterable[Row], outcomes: Sequence[Outcome]) -> list[Judged]:
    """Judges the rows of the repositories that were surveyed.

    On a `fine` line nothing may be said at warning or above; a `real` line must be in a finding at warning or above,
    or in its story; a `wasteful` line must be in a finding, and in none at warning or above.
    """
    said: dict[str, list[Said]] = {}
    for outcome in outcomes:
        said.setdefault(outcome.program.repository, []).extend(outcome.said)
    return [_judge(row, said[row.repository]) for row in rows if row.repository in said]


def _judge(row: Row, said: Sequence[Said]) -> Judged:
    on_it = [s for s in said if _is_on(row, s)]
    told = [s for s in said if s in on_it or any(_is_at(row, spot) for spot in s.story)]
    loud_on_it = [s for s in on_it if s.severity in LOUD]
    if row.verdict == "fine":
        agrees, shown = not loud_on_it, loud_on_it
    elif row.verdict == "wasteful":
        agrees, shown = bool(told) and not loud_on_it, told
    else:
        agrees, shown = any(s.severity in LOUD for s in told), told
    return Judged(row, agrees, tuple(f"{s.code} {s.severity} on {s.spot.label}" for s in shown))


def _is_at(row: Row, spot: Spot) -> bool:
    return spot.path == row.path and spot.label == row.line


def _is_on(row: Row, said: Said) -> bool:
    if said.spot.path != row.path:
        return False
    cell, _, line = row.line.rpartition(":")
    own_cell, _, first = said.spot.label.rpartition(":")
    return cell == own_cell and int(first) <= int(line) <= int(first) + said.end_line - said.spot.line


def score(judged: Sequence[Judged]) -> str:
    """How many rows of each kind agree."""
    all_of, agreeing = Counter(j.kind for j in judged), Counter(j.kind for j in judged if j.agrees)
    return ", ".join(f"{kind} {agreeing[kind]} of {count}" for kind, count in sorted(all_of.items())) or "no rows"
