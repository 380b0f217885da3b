"""One piece of a check, small enough to be sent to another process: files, how to see them, what to do with faults."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gradsense.check import Project, check_program, check_source
from gradsense.cli.files import File, Files
from gradsense.cli.mending import Mended, mend
from gradsense.cli.result import Change, Message, Result
from gradsense.config import Settings
from gradsense.filtering import apply
from gradsense.fixes.fix import Fix
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, SourceError


@dataclass(frozen=True, eq=False)
class Job:
    """Some files to check.

    Args:
        files: their names.
        settings: what is reported.
        together: whether they are one program; else each is its own.
        fix: whether faults are mended.
        want_fixes: whether the findings are to come with the fixes on offer, which take time to make.
        data: the content of the only file, where it is not on disk.
        size: how many bytes there are to check, about.
    """

    files: tuple[str, ...]
    settings: Settings
    together: bool = False
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
    result.findings = [_fit_to_send(finding, job.want_fixes) for finding in findings]
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
        project = Project.for_paths(list(files))
        for path, file in files.items():
            project.overlay(path, file.source.text)
        if self.job.together:
            reports = [check_program(project, list(files))]
        else:
            reports = [check_source(file.source, project) for file in files.values()]
        self.notes = [Message(note.path, note.line, note.message) for report in reports for note in report.notes]
        for path in _mentioned((f for report in reports for f in report.findings), self.notes):
            if path not in self.sources:
                with contextlib.suppress(SourceError):
                    self.sources[path] = Source.from_path(path)
        found = {}
        for report in reports:
            for finding in apply(report, self.sources, self.job.settings):
                found[finding.sort_key] = finding
        return [found[key] for key in sorted(found)]


def _mentioned(findings: Iterable[Finding], notes: Iterable[Message]) -> set[str]:
    """All files that a person will read about."""
    paths = {note.path for note in notes}
    for finding in findings:
        paths.update((finding.path, *(other.path for other in finding.related)))
    return paths


def _fit_to_send(finding: Finding, want_fixes: bool) -> Finding:
    """A finding whose fixes are made, since what makes them cannot be sent to another process."""
    return replace(finding, make_fixes=_Made(finding.fixes if want_fixes else ()))


@dataclass(frozen=True, slots=True)
class _Made:
    fixes: tuple[Fix, ...]

    def __call__(self) -> tuple[Fix, ...]:
        return self.fixes


def _changes(before: Files, mended: Mended) -> list[Change]:
    changes = []
    for path, file in mended.files.items():
        if file.data != before[path].data:
            done = tuple(str(mend) for mend in mended.mends if mend.finding.path == path)
            changes.append(Change(before[path], file, done))
    return changes


def _refusals(mended: Mended) -> list[Message]:
    texts = {f"a fix was left out ({mend}): {reason}": mend.finding.path for mend, reason in mended.refused}
    return [Message(path, None, text) for text, path in texts.items()]
