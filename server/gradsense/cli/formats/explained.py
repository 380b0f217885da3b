"""What `gradsense explain` shows: for reading in a terminal, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from rich.text import Text

from gradsense.cli.formats import full
from gradsense.cli.formats.json import Object, finding_object
from gradsense.cli.result import Result
from gradsense.cli.terminal import console
from gradsense.explain.explaining import Explanation
from gradsense.explain.pasted import Frame
from gradsense.explain.places import Places, Spot
from gradsense.regions import place, region
from gradsense.rules.finding import Finding
from gradsense.syntax import Span

_OTHERS_SHOWN = 5


def write(form: str, explanation: Explanation, places: Places, out: TextIO) -> None:
    """Writes an explanation as `full` or as `json`."""
    shown = _result(explanation, places)
    if form == "json":
        json.dump(_object(explanation, shown), out, indent=2)
        out.write("\n")
        return
    terminal = console(out)
    for line in _lines(explanation, shown, full.Page(terminal)):
        terminal.print(line)


def _result(explanation: Explanation, places: Places) -> Result:
    findings = [finding for finding in (explanation.finding, *explanation.others) if finding is not None]
    paths = {finding.path for finding in findings} | {one.path for finding in findings for one in finding.related}
    paths |= {spot.path for spot in (*explanation.trace, *explanation.forward)}
    sources = {path: source for path in sorted(paths) if (source := places.source(path)) is not None}
    return Result(findings=findings, sources=sources)


def _lines(explanation: Explanation, shown: Result, page: full.Page) -> Iterator[Text]:
    kind = f"{explanation.kind}: " if explanation.kind else ""
    yield from page.paragraph(f"{kind}{explanation.message}", "", "")
    yield Text("")
    yield Text(explanation.cause.title, style="bold")
    yield from page.paragraph(" ".join((explanation.cause.meaning, *explanation.facts)), "  ", "  ")
    yield Text("")
    for name, spots in (("saved", explanation.forward), ("fails", explanation.trace)):
        if spots:
            spot = spots[-1]
            yield from page.entry(name, f"{_named(shown, spot)}: {_text(shown, spot)}")
    if not explanation.trace and explanation.frames:
        frame = explanation.frames[-1]
        yield from page.entry("fails", f"{frame.path or 'the cell'}, line {frame.line}: {frame.text} (not found here)")
    if explanation.finding is None:
        yield from page.entry("look", explanation.cause.advice)
    else:
        yield from _found(explanation, explanation.finding, shown, page)
    for rule in explanation.rules:
        yield from page.entry("help", f"gradsense rule {rule}")


def _found(explanation: Explanation, finding: Finding, shown: Result, page: full.Page) -> Iterator[Text]:
    yield Text("")
    yield Text("Its cause:" if explanation.named else "The check finds this, of the same kind:", style="bold")
    yield from page.finding(shown, finding, brief=True)
    if explanation.others:
        yield Text("It may also be:", style="bold")
    for other in explanation.others[:_OTHERS_SHOWN]:
        where = place(shown.sources, other.path, other.span)
        yield from page.paragraph(f"{where} {other.code} {other.message}", "  ", "    ")
    if not explanation.named:
        yield from page.entry("look", explanation.cause.advice)


def _named(shown: Result, spot: Spot) -> str:
    at = region(shown.sources, spot.path, Span(spot.line, 0, spot.line, 0))
    cell = "" if at.cell is None else f"cell {at.cell + 1}:"
    return f"{spot.path}:{cell}{at.line}"


def _text(shown: Result, spot: Spot) -> str:
    source = shown.sources.get(spot.path)
    return source.lines[spot.line - 1].strip() if source is not None else spot.frame.text


def _object(explanation: Explanation, shown: Result) -> Object:
    finding = explanation.finding
    return {
        "cause": explanation.cause.name,
        "title": explanation.cause.title,
        "code": explanation.code,
        "codes": list(explanation.codes),
        "error": {"type": explanation.kind or None, "message": explanation.message},
        "explanation": " ".join((explanation.cause.meaning, *explanation.facts)),
        "advice": explanation.cause.advice,
        "named": explanation.named,
        "traceback": [_frame(frame) for frame in explanation.frames],
        "fails": _spot(explanation.trace, shown),
        "saved": _spot(explanation.forward, shown),
        "finding": finding_object(shown.sources, finding) if finding is not None else None,
        "others": [finding_object(shown.sources, other) for other in explanation.others],
    }


def _frame(frame: Frame) -> Object:
    return {
        "path": frame.path or None,
        "execution_count": frame.cell,
        "line": frame.line,
        "name": frame.name or None,
        "text": frame.text or None,
    }


def _spot(spots: tuple[Spot, ...], shown: Result) -> Any:
    if not spots:
        return None
    spot = spots[-1]
    at = region(shown.sources, spot.path, Span(spot.line, 0, spot.line, 0))
    where = {"line": at.line} if at.cell is None else {"cell": at.cell, "line": at.line}
    return {"path": spot.path, **where, "text": _text(shown, spot)}
