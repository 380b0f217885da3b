"""Checks one program of a repository, in a process of its own, and sends back what came of it."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradsense.check import Project, Report, check_program
from gradsense.cli.programs import programs
from gradsense.config import load_settings
from gradsense.discovery import find_files
from gradsense.filtering import apply
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, SourceError, parse
from surveying.walk_calls import walk_calls


@dataclass(frozen=True)
class Program:
    """Files of a repository that are connected by imports.

    Args:
        repository: the folder's name.
        folder: the folder.
        files: their paths.
        size: their bytes.
    """

    repository: str
    folder: str
    files: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Spot:
    """A line of a file; `label` is how a person finds it: in a notebook `cell3:7`, by the cell's place in it."""

    path: str
    line: int
    label: str


@dataclass(frozen=True)
class Said:
    """One finding: where, what, and the other lines of its story."""

    spot: Spot
    end_line: int
    code: str
    severity: str
    message: str
    story: tuple[Spot, ...]


@dataclass(frozen=True)
class Site:
    """A backward or grad call, and why its graph was not fully known; None where it was."""

    spot: Spot
    reason: str | None


@dataclass
class Outcome:
    """What came of one program."""

    program: Program
    lines: int = 0
    seconds: float = 0.0
    crash: str | None = None
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)


def programs_of(folder: str) -> list[Program]:
    """The programs that a folder holds, as `gradsense check` parts it for several processes."""
    files = find_files(folder, load_settings(folder).settings)
    name = os.path.basename(os.path.abspath(folder))
    parts = programs(folder, files)
    return [Program(name, folder, tuple(part), sum(map(os.path.getsize, part))) for part in parts]


def survey(program: Program) -> Outcome:
    """Checks a program; a crash is an outcome as well."""
    outcome = Outcome(program)
    started = time.process_time()
    try:
        report = check_program(Project.for_paths([program.folder]), program.files)
    except Exception:
        outcome.crash = traceback.format_exc()
        report = Report()
    outcome.seconds = time.process_time() - started
    outcome.failures = report.failures
    sources = _read(program.files)
    outcome.lines = sum(source.text.count("\n") + 1 for source in sources.values())
    outcome.notes = [f"{_in(program, note.path)}:{note.line}: {note.message}" for note in report.notes]
    settings = load_settings(program.folder).settings
    for finding in apply(report, sources, settings):
        outcome.said.append(_said(program, finding, sources))
    cut = {note.path for note in report.notes if "bound on work" in note.message}
    for path, source in sources.items():
        outcome.sites += _sites(program, source, report, path in cut)
    return outcome


def _read(files: Sequence[str]) -> dict[str, Source]:
    sources = {}
    for path in files:
        try:
            sources[path] = Source.from_path(path)
        except SourceError:
            continue
    return sources


def _in(program: Program, path: str) -> str:
    return os.path.relpath(path, program.folder)


def _spot(program: Program, path: str, line: int, source: Source | None) -> Spot:
    cell = source.cell_at(line) if source is not None and source.cells else None
    label = f"cell{cell[0]}:{cell[1]}" if cell is not None else str(line)
    return Spot(_in(program, path), line, label)


def _said(program: Program, finding: Finding, sources: dict[str, Source]) -> Said:
    story = tuple(
        _spot(program, other.path, line, sources.get(other.path))
        for other in finding.related
        for line in range(other.span.line, other.span.end_line + 1)
    )
    spot = _spot(program, finding.path, finding.span.line, sources.get(finding.path))
    return Said(spot, finding.span.end_line, finding.code, finding.severity.value, finding.message, story)


def _sites(program: Program, source: Source, report: Report, cut: bool) -> list[Site]:
    sites = []
    for place in walk_calls(parse(source).tree):
        key = (source.path, *place)
        if key not in report.sites:
            reason = "not reached before the bound on work" if cut else "not reached"
        elif not report.sites[key]:
            reason = report.doubts.get(key, "its root is not known")
        else:
            reason = None
        sites.append(Site(_spot(program, source.path, place[0], source), reason))
    return sites


__all__ = ["Outcome", "Program", "Said", "Site", "Spot", "programs_of", "survey"]
