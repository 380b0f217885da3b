"""One piece of a check, small enough to be sent to another process: files, how to see them, what to do with faults."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gradsense.check import Project, Report, check_program, check_source
from gradsense.cli.result import Change, Message, Result, unique
from gradsense.config import Settings
from gradsense.files import File, Files
from gradsense.filtering import UNUSED_IGNORE, apply
from gradsense.fixes.fix import Fix
from gradsense.mending import Mended, mend
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, SourceError

# The time to work out fixes that are only to be listed.
FIXING_SECONDS = 15.0


@dataclass(frozen=True, eq=False)
class Job:
    """Some files to check.

    Args:
        files: their names.
        settings: what is reported.
        folder: the folder whose files they are, as parts of one program; None where each is a program of its own.
        fix: whether faults are mended.
        want_fixes: whether the findings are to come with the fixes on offer, which take time to make.
        data: the content of the only file, where it is not on disk.
        size: how many bytes there are to check, about.
    """

    files: tuple[str, ...]
    settings: Settings
    folder: str | None = None
    fix: bool = False
    want_fixes: bool = True
    data: bytes | None = None
    size: int = 0


def run_job(job: Job) -> Result:
    """Checks the files of a job, and mends them in memory where that is asked for."""
    result = Result(checked=len(job.files))
    files = _read(job, result)
    if not files:
        return result
    check = _Check(job)
    if job.fix:
        mended = mend(files, check, job.settings.unsafe_fixes)
        result.changes = _changes(files, mended)
        result.notes += _refusals(mended)
        findings = mended.findings
    else:
        findings = check(files)
    result.notes += check.notes
    result.sources = {path: check.sources[path] for path in _mentioned(findings, result.notes) if path in check.sources}
    result.findings = _fit_to_send(findings, job.want_fixes)
    late = sum(1 for finding in result.findings if isinstance(finding.make_fixes, _TooLate))
    if late:
        text = f"for {late} of {len(findings)} findings fixes were not worked out: that took too long"
        result.notes.append(Message(findings[0].path, None, text))
    return result


def _read(job: Job, result: Result) -> Files:
    files: Files = {}
    for path in job.files:
        try:
            files[path] = File.read(path) if job.data is None else File.of(path, job.data)
        except SourceError as error:
            result.failures.append(Message(path, None, str(error)))
    return files


@dataclass
class _Check:
    """Finds what there is to find in files as they are now, and remembers what else came of it."""

    job: Job
    notes: list[Message] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)

    def __call__(self, files: Mapping[str, File]) -> list[Finding]:
        self.sources = {path: file.source for path, file in files.items()}
        reports = self._reports()
        self.notes = [Message(note.path, note.line, note.message) for report in reports for note in report.notes]
        for path in _mentioned((f for report in reports for f in report.findings), self.notes):
            if path not in self.sources:
                with contextlib.suppress(SourceError):
                    self.sources[path] = Source.from_path(path)
        found = unique(finding for report in reports for finding in report.findings)
        reported = apply(Report(found), self.sources, self.job.settings)
        # Of a file that was only imported not everything was looked at, so its comments may be of use after all.
        return [finding for finding in reported if finding.code != UNUSED_IGNORE or finding.path in files]

    def _reports(self) -> list[Report]:
        known = {os.path.realpath(path): source for path, source in self.sources.items()}

        def read(path: str) -> Source:
            return known.get(os.path.realpath(path)) or Source.from_path(path)

        def project(path: str) -> Project:
            return Project(Project.for_paths([path]).roots, read)

        if self.job.folder is not None:
            return [check_program(project(self.job.folder), list(self.sources))]
        projects = {folder: project(folder) for folder in {_folder(path) for path in self.sources}}
        return [check_source(source, projects[_folder(path)]) for path, source in self.sources.items()]


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _mentioned(findings: Iterable[Finding], notes: Iterable[Message]) -> set[str]:
    """All files that a person will read about."""
    paths = {note.path for note in notes}
    for finding in findings:
        paths.update((finding.path, *(other.path for other in finding.related)))
    return paths


def _fit_to_send(findings: Iterable[Finding], want_fixes: bool) -> list[Finding]:
    """The findings with fixes that are made, since what makes them cannot be sent to another process."""
    deadline = time.monotonic() + FIXING_SECONDS
    sent = []
    for finding in findings:
        made = _Made(())
        if want_fixes:
            made = _Made(finding.fixes) if time.monotonic() < deadline else _TooLate(())
        sent.append(replace(finding, make_fixes=made))
    return sent


@dataclass(frozen=True)
class _Made:
    fixes: tuple[Fix, ...]

    def __call__(self) -> tuple[Fix, ...]:
        return self.fixes


class _TooLate(_Made):
    """In place of fixes that there was no time to make."""


def _changes(before: Files, mended: Mended) -> list[Change]:
    changes = []
    for path, file in mended.files.items():
        if file.data != before[path].data:
            done = tuple(str(mend) for mend in mended.mends if any(edit.path == path for edit in mend.fix.edits))
            changes.append(Change(before[path], file, done))
    return changes


def _refusals(mended: Mended) -> list[Message]:
    texts = {f"a fix was left out ({mend}): {reason}": mend.finding.path for mend, reason in mended.refused}
    return [Message(path, None, text) for text, path in texts.items()]
