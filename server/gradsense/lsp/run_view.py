"""A run in an open editor: which lines of which documents its story is on, and what is shown there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradsense.lsp.program import scheme_of
from gradsense.run import words
from gradsense.run.report import Frame, Report
from gradsense.run.story import Part, story
from gradsense.syntax.columns import encode_column
from gradsense.syntax.edits import split_lines

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.program import Program
    from gradsense.lsp.session import Session

SOURCE = "gradsense run"
_FRAMES_SHOWN = 12
_ON_LINE = re.compile(r"\bon line (\d+)")


@dataclass(frozen=True)
class Line:
    """A line of the story where the client has it.

    Args:
        uri: the text document.
        place: the line without its indentation.
        part: what happened there.
    """

    uri: str
    place: types.Range
    part: Part


@dataclass(frozen=True)
class ShownRun:
    """A run whose story is shown until one of its documents changes.

    Args:
        program: the URI of the program.
        report: what the run found out.
        lines: the lines of the story that are in open documents.
        locator: where lines are.
        target: which part of the program was run, and where.
    """

    program: str
    report: Report
    lines: tuple[Line, ...]
    locator: Locator
    target: tuple[object, ...] = ()

    def at(self, uri: str, position: types.Position) -> list[Line]:
        """The lines of the story that a position is in."""
        return [line for line in self.lines if line.uri == uri and line.place.start.line == position.line]


class Locator:
    """Finds in the open documents what a report names by path and line.

    Args:
        session: has the open documents.
        program: what was run.
        path: what it was called.
    """

    def __init__(self, session: Session, program: Program, path: str) -> None:
        self._session = session
        self._program = program
        self._path = path

    @property
    def has_cells(self) -> bool:
        """Whether the program is a notebook."""
        return self._program.cells is not None

    def locate(self, path: str, line: int) -> tuple[str, types.Range] | None:
        """The document and range of a line; None where it is in no open document."""
        if os.path.abspath(path) == os.path.abspath(self._path):
            return self._in_program(line)
        document = self._session.documents.get(self._session.documents.uri_of(path))
        return None if document is None else self._in_document(document, line)

    def name(self, path: str, line: int) -> tuple[str, int]:
        """A line of the program as the client can open it: a cell, or a document without a path, by its URI."""
        found = self._in_program(line) if os.path.abspath(path) == os.path.abspath(self._path) else None
        if found is None:
            return path, line
        document = self._session.documents.get(found[0])
        uses_path = self._program.cells is None and scheme_of(found[0]) == "file"
        return path if document is None or uses_path else found[0], found[1].start.line + 1

    def where(self, path: str, line: int) -> str:
        """A line's name for a person who looks at the program."""
        found = self.locate(path, line)
        if os.path.abspath(path) != os.path.abspath(self._path):
            return f"{os.path.basename(path)}, line {line}"
        if self._program.cells is None or found is None:
            return f"line {line}"
        index = next(number for number, part in enumerate(self._program.parts) if part.uri == found[0])
        return f"cell {self._program.cells[index].index + 1}, line {found[1].start.line + 1}"

    def _in_program(self, line: int) -> tuple[str, types.Range] | None:
        first = 1
        for part in self._program.parts:
            count = len(split_lines(part.text))
            if line < first + count:
                return self._in_document(part, line - first + 1)
            first += count
        return None

    def _in_document(self, document: Document, line: int) -> tuple[str, types.Range] | None:
        lines = split_lines(document.text)
        if not 1 <= line <= len(lines):
            return None
        text = lines[line - 1]
        encoding = self._session.client.encoding
        start = encode_column(text, len(text) - len(text.lstrip()), encoding)
        end = encode_column(text, len(text.rstrip()), encoding)
        return document.uri, types.Range(types.Position(line - 1, start), types.Position(line - 1, max(start, end)))


def by_cells(report: Report, locator: Locator, path: str) -> Report:
    """The report with lines within its texts named by cell, where the program is a notebook.

    Args:
        report: the report.
        locator: finds the lines.
        path: what the program was called.
    """
    if not locator.has_cells:
        return report

    def name(found: re.Match[str]) -> str:
        return f"in {locator.where(path, int(found[1]))}"

    silent = tuple(replace(fault, what=_ON_LINE.sub(name, fault.what)) for fault in report.silent)
    return replace(report, silent=silent)


def shown(locator: Locator, program: str, report: Report, target: tuple[object, ...]) -> ShownRun:
    """Finds the places of a report's story."""
    lines = []
    for part in story(report):
        found = locator.locate(part.path, part.line)
        if found is not None:
            lines.append(Line(*found, part))
    return ShownRun(program, report, tuple(lines), locator, target)


def report_of(report: Report, locator: Locator | None, path: str) -> dict[str, Any]:
    """The report as the client gets it: with each line named by what it is in.

    Args:
        report: the report.
        locator: finds the lines; None where nothing was run.
        path: what the program was called, for lines that name no file.
    """
    value: dict[str, Any] = report.to_json() if locator is None else _named(report.to_json(), locator, path)
    return value


def _named(value: Any, locator: Locator, path: str) -> Any:
    if isinstance(value, list):
        return [_named(item, locator, path) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key: _named(item, locator, path) for key, item in value.items()}
    if isinstance(named.get("line"), int):
        name, named["line"] = locator.name(named.get("path") or path, named["line"])
        if named.get("path"):
            named["path"] = name
    return named


def diagnostics_of(run: ShownRun, *, related: bool) -> dict[str, list[types.Diagnostic]]:
    """What is drawn in the documents of a run's story, by their URIs.

    Args:
        run: the run.
        related: whether the client shows the other lines of a story.
    """
    found: dict[str, list[types.Diagnostic]] = {}
    for line in run.lines:
        others = [other for other in run.lines if other is not line]
        diagnostic = types.Diagnostic(
            range=line.place,
            message=_message(run.report, line.part, [other.part for other in others], run.locator),
            severity=_severity(run.report, line.part),
            source=SOURCE,
        )
        if related and others:
            diagnostic.related_information = [
                types.DiagnosticRelatedInformation(types.Location(other.uri, other.place), other.part.text)
                for other in others
            ]
        found.setdefault(line.uri, []).append(diagnostic)
    return found


def inlays_of(run: ShownRun, uri: str, span: types.Range) -> Iterator[types.InlayHint]:
    """Short texts behind the lines of a run's story."""
    for line in run.lines:
        if line.uri == uri and span.start.line <= line.place.start.line <= span.end.line:
            yield types.InlayHint(position=line.place.end, label=line.part.short, padding_left=True)


def hover_of(run: ShownRun, lines: list[Line], *, markdown: bool) -> str:
    """What a run says in a hover over lines of its story: the tracebacks, those of libraries folded."""
    report = run.report
    rule = "**Run of the step**" if markdown else "Run of the step"
    parts = [f"{rule}: {words.headline(report)}"]
    parts += [f"{line.part.text[:1].upper()}{line.part.text[1:]}." for line in lines]
    for name, frames in (("Forward", report.forward_traceback), ("Backward", report.backward_traceback)):
        if frames:
            text = "\n".join(folded(frames, run.locator))
            block = f"```text\n{text}\n```" if markdown else "\n".join(f"    {row}" for row in text.splitlines())
            parts.append(f"{name} traceback, outermost first:\n\n{block}")
    if report.passes:
        nodes = [row.nodes for row in report.passes]
        parts.append(f"Autograd nodes alive after each pass: {words.listed(nodes)} {words.plot(nodes)}")
    return "\n\n".join(parts)


def folded(frames: tuple[Frame, ...], locator: Locator) -> Iterator[str]:
    """The user's lines of a traceback; how many of the libraries lie between."""
    count = 0
    own = [frame for frame in frames if frame.user]
    for frame in frames:
        if not frame.user:
            count += 1
            continue
        if own and frame not in own[-_FRAMES_SHOWN:]:
            continue
        if count:
            yield f"… {count} of torch and other libraries"
            count = 0
        name = "" if frame.name in ("", "<module>") else f" in {frame.name}"
        yield f"{locator.where(frame.path, frame.line)}{name}: {frame.text.strip()}"
    if count:
        yield f"… {count} of torch and other libraries"


def _message(report: Report, part: Part, others: list[Part], locator: Locator) -> str:
    if part.main:
        text = words.headline(report)
        if others:
            text += "\n" + "; ".join(f"{locator.where(o.path, o.line)}: {o.text}" for o in others)
        return text
    main = next((other for other in others if other.main), None)
    if main is None:
        return part.text
    return f"{part.text}: {main.text} ({locator.where(main.path, main.line)})"


def _severity(report: Report, part: Part) -> types.DiagnosticSeverity:
    if report.outcome in ("raises", "nan") and part.main:
        return types.DiagnosticSeverity.Error
    if report.outcome in ("raises", "nan"):
        return types.DiagnosticSeverity.Warning
    return types.DiagnosticSeverity.Warning if part.main else types.DiagnosticSeverity.Information
