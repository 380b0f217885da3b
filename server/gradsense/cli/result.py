"""What a check found, as every output format takes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradsense.files import File
from gradsense.regions import place
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source, Span


@dataclass(frozen=True, slots=True)
class Message:
    """Something to tell about a file that is no finding: it could not be read, or not to the end.

    Args:
        path: the file, as the user named it.
        line: the line of the program (of the joined cells, in a notebook); None for the file as a whole.
        text: what happened.
    """

    path: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was mended, or would be.

    Args:
        before, after: the file.
        done: each mend in a line.
    """

    before: File
    after: File
    done: tuple[str, ...]

    @property
    def path(self) -> str:
        """The file's name."""
        return self.before.source.path


@dataclass
class Result:
    """Everything that a run has to show.

    Args:
        findings: what is reported, in order of file and place.
        sources: the text of the files that findings and their stories lie in, by path.
        notes: what was left out of the check, such as a broken statement.
        failures: the files that could not be checked; each text names its file.
        changes: the files that were mended, or would be.
        checked: how many files were.
    """

    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    notes: list[Message] = field(default_factory=list)
    failures: list[Message] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    checked: int = 0

    def add(self, other: Result) -> None:
        """Takes in what another part of the run found."""
        self.findings += other.findings
        self.sources.update(other.sources)
        self.notes += other.notes
        self.failures += other.failures
        self.changes += other.changes
        self.checked += other.checked

    def settle(self) -> None:
        """Orders the findings by place, and keeps one of those that several parts of the run found."""
        self.findings = unique(self.findings)

    @property
    def has_faults(self) -> bool:
        """Whether there is an error or a warning, which is what an exit code of 1 says."""
        return any(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in self.findings)


def unique(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order of place, of each code at each place the most certain."""
    best: dict[object, Finding] = {}
    for finding in findings:
        known = best.setdefault(finding.sort_key, finding)
        if finding.severity.rank < known.severity.rank:
            best[finding.sort_key] = finding
    return sorted(best.values(), key=lambda finding: finding.sort_key)


def line_place(sources: Mapping[str, Source], message: Message) -> str:
    """Names the line that a message is about, or its file."""
    if message.line is None:
        return message.path
    return place(sources, message.path, Span(message.line, 0, message.line, 0)).rpartition(":")[0]


def from_here(path: str) -> str | None:
    """The path relative to the current folder, with forward slashes; None for one that lies elsewhere."""
    full = Path(os.path.abspath(path))
    here = Path.cwd()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else None
