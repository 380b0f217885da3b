"""The lines of a report's story in the order they happened, with what is said at each."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.run import words
from gradsense.run.report import Report, Spot


@dataclass(frozen=True)
class Part:
    """One line of the story.

    Args:
        path, line: where it is, lines from 1.
        text: what happened there.
        main: whether it is the line that the report is about.
        short: the same for an editor's inlay, behind the line.
    """

    path: str
    line: int
    text: str
    main: bool
    short: str


def story(report: Report) -> list[Part]:
    """The lines that a person looks at, that of the fault first."""
    parts: list[Part] = []
    if report.walk is not None:
        parts.append(_at(report.walk, *_walk(report), main=True))
    if report.saved is not None:
        by = _by(report.saved)
        happened = "the gradient became NaN in the walk of" if report.outcome == "nan" else "saved by"
        text = f"{happened} {by or 'this line'}"
        parts.append(_at(report.saved, text, text, main=not parts))
    for spot in report.written:
        by = _by(spot)
        what = f"`{spot.name}` " if spot.name else ""
        parts.append(_at(spot, f"{what}written in place{f' by {by}' if by else ''}", f"{what}written here", main=False))
    if report.freed is not None:
        parts.append(_at(report.freed, "this walk freed what was saved", "freed here", main=False))
    for holder in report.holders:
        if holder.path and holder.line:
            text = f"`{holder.name}` keeps the graph of each pass"
            parts.append(Part(holder.path, holder.line, text, not parts, text))
    for silent in report.silent:
        parts.append(Part(silent.path, silent.line, silent.what, not parts, silent.what))
        if silent.written is not None:
            parts.append(_at(silent.written, "written here", "written here", main=False))
    return list(dict.fromkeys(parts))


def _at(spot: Spot, text: str, short: str, *, main: bool) -> Part:
    return Part(spot.path, spot.line, text, main, short)


def _walk(report: Report) -> tuple[str, str]:
    if report.outcome == "grows":
        return "the graph grows with each pass", words.growth(report)
    if report.outcome == "nan":
        return "this walk met a gradient that is not a number", "NaN in this walk"
    kind = report.error.type if report.error else "an error"
    article = "an" if kind[:1] in "AEIOU" else "a"
    return f"{article} {kind} surfaces here", f"{kind} surfaces here"


def _by(spot: Spot) -> str:
    return f"`{spot.op}`" if spot.op else ""
