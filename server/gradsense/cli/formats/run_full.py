"""A run's report for reading in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gradsense.cli.formats.run_texts import Texts
from gradsense.cli.formats.snippet import Mark, Snippet
from gradsense.cli.terminal import clean, console
from gradsense.run import words
from gradsense.run.advice import advice
from gradsense.run.report import Cost, Frame, Pass, Report
from gradsense.run.step import Step
from gradsense.run.story import Part, story
from gradsense.run.trying import sentence
from gradsense.syntax import Source, Span

_STYLES = {
    "raises": "bold red",
    "nan": "bold red",
    "grows": "bold yellow",
    "clean": "bold green",
    "failed": "bold magenta",
    "timeout": "bold magenta",
}
_VERDICTS = {"confirmed": "red", "refuted": "green", "not-reached": "yellow"}
_WIDEST_TEXT = 100
_GUTTER = "  "


@dataclass(frozen=True)
class Surroundings:
    """What a report is shown with.

    Args:
        ran_by: the Python that ran the step.
        notes: what is said about how it was run.
        advice: what would make it run, where that is known.
        unfolding: what shows the lines of tracebacks that are folded.
        checked: whether the program was checked without running it, so that what happened may be called unforeseen.
    """

    ran_by: str = ""
    notes: tuple[str, ...] = ()
    advice: str | None = None
    unfolding: str = "--traceback"
    checked: bool = False

    @classmethod
    def of(cls, report: Report, step: Step) -> Surroundings:
        """Those of a run in a process of its own."""
        python = f"{step.interpreter.path} ({step.interpreter.reason})"
        checked = bool(report.predictions or not step.spec.predictions)
        return cls(python, step.notes, advice(report, step), checked=checked)


def write_report(report: Report, step: Step, source: Source, out: TextIO, *, whole: bool) -> None:
    """Writes the report of a run in a process of its own.

    Args:
        report: what the run found out.
        step: what was run, and where.
        source: the program.
        out: where to.
        whole: whether tracebacks are shown whole, with the lines of torch and other libraries.
    """
    terminal = console(out)
    texts = Texts(source)
    if report.ranks:
        for number, rank in enumerate(report.ranks):
            terminal.print(Text(f"rank {number}", style="bold reverse"))
            write_page(rank, Surroundings.of(rank, step), texts, terminal, whole=whole)
        return
    write_page(report, Surroundings.of(report, step), texts, terminal, whole=whole)


def write_page(report: Report, around: Surroundings, texts: Texts, terminal: Console, *, whole: bool) -> None:
    """Writes a report.

    Args:
        report: what the run found out.
        around: what it is shown with.
        texts: the files that it speaks of.
        terminal: where to.
        whole: whether tracebacks are shown whole, with the lines of torch and other libraries.
    """
    _Page(report, around, texts, terminal, whole).write()


class _Page:
    def __init__(self, report: Report, around: Surroundings, texts: Texts, terminal: Console, whole: bool) -> None:
        self._report = report
        self._around = around
        self._texts = texts
        self._terminal = terminal
        self._whole = whole

    def write(self) -> None:
        report = self._report
        self._head()
        parts = story(report)
        if parts:
            self._terminal.print()
            self._snippet(parts)
        self._traceback("forward", report.forward_traceback)
        self._traceback("backward", report.backward_traceback)
        self._passes()
        self._terminal.print()
        for name, text in self._facts():
            self._entry(name, text)
        for found in report.predictions:
            style = _VERDICTS.get(found.verdict, "")
            where = self._texts.where(found.path or self._texts.main.path, found.line)
            self._entry("predicted", f"{found.code} at {where}: ", (found.verdict.replace("-", " "), style))
        for missed in self._missed():
            self._entry("missed", missed)
        for note in (*self._around.notes, *report.notes):
            self._entry("note", note)

    def _head(self) -> None:
        report = self._report
        main = next((part for part in story(report) if part.main), None)
        where = self._texts.where(main.path, main.line) if main else self._texts.name(self._texts.main.path)
        outcome: str = report.outcome
        style = _STYLES[report.outcome]
        if report.silent and outcome == "clean":
            outcome, style = "wrong gradients", _STYLES["raises"]
        head = Text.assemble((clean(where), "bold"), " ", (outcome, style))
        self._terminal.print(head)
        for line in self._paragraph(words.headline(report), _GUTTER, _GUTTER):
            self._terminal.print(line)

    def _snippet(self, parts: Sequence[Part]) -> None:
        marks = []
        for part in parts:
            text = self._texts.line(part.path, part.line)
            start = len(text) - len(text.lstrip())
            span = Span(part.line, start, part.line, max(len(text.rstrip()), start + 1))
            style = _STYLES[self._report.outcome] if part.main else None
            marks.append(Mark(self._texts.name(part.path), span, part.text, style))
        for line in Snippet(marks, self._texts.by_name, self._terminal).lines():
            self._terminal.print(line)

    def _traceback(self, name: str, frames: Sequence[Frame]) -> None:
        if not frames or (not self._whole and len([frame for frame in frames if frame.user]) < 2):
            # The one line that it would show is in the story.
            return
        self._terminal.print()
        self._terminal.print(Text(f"  {name} traceback, outermost first", style="bold"))
        folded = 0
        for frame in frames:
            if not (frame.user or self._whole):
                folded += 1
                continue
            folded = self._fold(folded)
            where = f"{self._texts.where(frame.path, frame.line)} in {frame.name}" if frame.name else frame.path
            self._terminal.print(Text(clean(f"    {where}"), style="cyan"))
            if frame.text:
                self._terminal.print(Text(clean(f"      {frame.text.strip()}")))
        self._fold(folded)

    def _fold(self, folded: int) -> int:
        if folded:
            lines = "1 line" if folded == 1 else f"{folded} lines"
            how = f"({self._around.unfolding} shows them)"
            self._terminal.print(Text(f"    … {lines} of torch and other libraries {how}", "dim"))
        return 0

    def _passes(self) -> None:
        rows = self._report.passes
        if not rows:
            return
        columns: list[tuple[str, list[str]]] = [
            ("pass", _numbers(rows)),
            ("line", [self._line(row.line) for row in rows]),
            ("nodes alive", [_shown(row.nodes) for row in rows]),
            ("", list(words.plot([row.nodes for row in rows]))),
            ("saved tensors", [_shown(row.saved_tensors) for row in rows]),
            ("saved", [_size(row.saved_bytes) for row in rows]),
            ("alive after", [_size(row.alive_bytes) for row in rows]),
            ("allocated", [_size(row.allocated or None) for row in rows]),
            ("reserved", [_size(row.reserved or None) for row in rows]),
        ]
        shown = [[name, *cells] for name, cells in columns if any(cell.strip() for cell in cells)]
        widths = [max(map(len, cells)) for cells in shown]
        self._terminal.print()
        for number, row in enumerate(zip(*shown, strict=True)):
            text = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            self._terminal.print(Text(f"  {text}", style="bold" if number == 0 else ""))

    def _facts(self) -> Iterator[tuple[str, str]]:
        report = self._report
        if report.fix is not None:
            yield "fix", f"{sentence(report)}; nothing was written"
        if self._around.advice:
            yield "help", self._around.advice
        if text := words.verdict(report):
            yield "memory", text
        for holder in report.holders:
            stored = f", stored at {self._texts.where(holder.path, holder.line)}" if holder.path and holder.line else ""
            yield "held by", f"`{holder.name}`{stored}"
        if report.loss:
            yield "loss", words.listed([f"{loss:.6g}" for loss in report.loss])
        if report.cost is not None and (text := _cost(report.cost)):
            yield "cost", text
        torch = f"torch {report.torch}" if report.torch else ""
        yield "ran on", ", ".join(part for part in (report.device, torch, self._around.ran_by) if part)

    def _missed(self) -> Iterator[str]:
        """That the static check did not foresee what happened."""
        report = self._report
        fault = report.outcome in ("raises", "grows") and (report.saved or report.freed or report.holders)
        if fault and self._around.checked and not any(found.verdict == "confirmed" for found in report.predictions):
            yield "`gradsense check` did not foresee this; it cannot see all that a run does"

    def _entry(self, name: str, text: str, ending: tuple[str, str] = ("", "")) -> None:
        head = f"  {name:<9} "
        lines = list(self._paragraph(text + ending[0], head, " " * len(head)))
        for number, line in enumerate(lines):
            if number == 0:
                line.stylize("bold", 0, len(head))
            if number == len(lines) - 1 and ending[0]:
                line.stylize(ending[1], max(0, len(line) - len(ending[0])))
            self._terminal.print(line)

    def _paragraph(self, text: str, first: str, rest: str) -> Iterator[Text]:
        """Breaks long text at a terminal's width; a pipe gets it in one line."""
        for number, part in enumerate(text.splitlines() or [""]):
            part = clean(" ".join(part.split()))
            head = first if number == 0 else rest
            if not self._terminal.is_terminal:
                yield Text(head + part)
                continue
            width = min(self._terminal.width, _WIDEST_TEXT)
            for line in textwrap.wrap(
                part, width, initial_indent=head, subsequent_indent=rest, break_on_hyphens=False
            ) or [head]:
                yield Text(line)

    def _line(self, line: int) -> str:
        at = self._texts.main.cell_at(line)
        return str(line) if at is None else f"cell {at[0] + 1}:{at[1]}"


def _numbers(rows: Sequence[Pass]) -> list[str]:
    """Counts the passes of each loop."""
    counts: dict[int, int] = {}
    numbers = []
    for row in rows:
        counts[row.line] = counts.get(row.line, 0) + 1
        numbers.append(str(counts[row.line]))
    return numbers


def _shown(value: int | None) -> str:
    return "" if value is None else str(value)


def _size(value: int | None) -> str:
    return "" if value is None else words.size(value)


def _cost(cost: Cost) -> str:
    named = (("plain", cost.plain), ("in anomaly mode", cost.anomaly), ("under the probe", cost.probe))
    parts = []
    for name, value in named:
        if value is not None:
            times = f" ({value / cost.plain:.1f} times)" if cost.plain and name != "plain" else ""
            parts.append(f"{words.seconds(value)} {name}{times}")
    return f"a pass takes {', '.join(parts)}" if parts else ""
