"""The analysis behind the worker: answers requests with what the rules find.

It keeps the last analysis of every open document, so that fixes are worked out when somebody asks for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pathspec import GitIgnoreSpec

from gradsense import filtering
from gradsense.check import Project, check_source
from gradsense.cli.files import File, with_newline
from gradsense.cli.mending import mend
from gradsense.config import Loaded, Settings, load_settings, settings_from
from gradsense.fixes.fix import Applicability, Fix
from gradsense.fixes.suppress import suppress_line
from gradsense.lsp.buffer import Buffer, edits_between
from gradsense.lsp.messages import (
    Analyse,
    Analysis,
    Done,
    Edits,
    Explain,
    FilesChanged,
    FindFixes,
    FixAll,
    Fixes,
    FixView,
    Forget,
    Page,
    Reply,
    Request,
    RuleView,
    Stale,
)
from gradsense.lsp.views import Views
from gradsense.rules.finding import Finding, Severity
from gradsense.rules.registry import RULES
from gradsense.syntax import ParsedModule, Source, SourceError, parse

SETTINGS_LIVE = 2.0
"""Seconds for which settings files are not looked at again."""


@dataclass
class Held:
    """The last analysis of an open document, and what its fixes need."""

    request: Analyse
    source: Source
    settings: Settings
    findings: list[Finding]
    views: Views

    @cached_property
    def parsed(self) -> ParsedModule:
        """The document's tree."""
        return parse(self.source)


class AnalysisEngine:
    """Answers the server's requests, one after another."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._projects: dict[str, Project] = {}
        self._settings: dict[str, tuple[float, Loaded]] = {}

    def answer(self, request: Request) -> Reply:
        """Answers one request."""
        if isinstance(request, Analyse):
            return self._analyse(request)
        if isinstance(request, FindFixes):
            return self._find_fixes(request)
        if isinstance(request, FixAll):
            return self._fix_all(request)
        if isinstance(request, Explain):
            return Page(_rule_view(request.code))
        if isinstance(request, Forget):
            self._held.pop(request.path, None)
        elif isinstance(request, FilesChanged):
            self._settings.clear()
        self._projects.clear()
        return Done()

    def _analyse(self, request: Analyse) -> Analysis:
        start = time.perf_counter()
        source = Source.from_text(request.path, request.text)
        loaded = self._load_settings(request.path)
        settings, bad = settings_from(request.overrides, loaded.settings, "the editor's settings")
        views = Views(request.encoding, self._source_of, _url_of)
        held = self._held[request.path] = Held(request, source, settings, [], views)
        notes: tuple[str, ...] = ()
        if not _is_excluded(request, settings):
            held.findings, notes = self._check(request, source, settings)
        return Analysis(
            path=request.path,
            revision=request.revision,
            findings=tuple(views.finding(index, finding) for index, finding in enumerate(held.findings)),
            notes=notes,
            problems=tuple(str(problem) for problem in (*loaded.problems, *bad)),
            seconds=time.perf_counter() - start,
        )

    def _check(self, request: Analyse, source: Source, settings: Settings) -> tuple[list[Finding], tuple[str, ...]]:
        project = self._project_of(request)
        project.overlay(request.path, source.text)
        report = check_source(source, project)
        findings = filtering.apply(report, {source.path: source}, settings)
        own = [finding for finding in findings if finding.path == source.path]
        return own, tuple(f"line {note.line}: {note.message}" for note in report.notes)

    def _find_fixes(self, request: FindFixes) -> Fixes | Stale:
        held = self._current(request.path, request.revision)
        if held is None:
            return Stale()
        chosen = [(index, held.findings[index]) for index in request.findings if index < len(held.findings)]
        fixes = [self._fix_view(held, index, fix) for index, finding in chosen for fix in finding.fixes]
        suppressions = [view for index, finding in chosen if (view := self._suppression(held, index, finding))]
        codes = {finding.code for _, finding in chosen}
        fixable = {code: sum(_is_mended_by_all(found, code) for found in held.findings) for code in sorted(codes)}
        return Fixes(tuple(fixes), tuple(suppressions), fixable)

    def _fix_view(self, held: Held, index: int, fix: Fix) -> FixView:
        newline = held.source.newline
        edits = tuple(replace(edit, new_text=with_newline(edit.new_text, newline)) for edit in fix.edits)
        return held.views.fix(index, replace(fix, edits=edits))

    def _suppression(self, held: Held, index: int, finding: Finding) -> FixView | None:
        edits = suppress_line(held.source, held.parsed.tree, finding.span.line, finding.code)
        if edits is None:
            return None
        return held.views.fix(index, Fix(f"Ignore {finding.code} on this line", Applicability.SAFE, edits))

    def _fix_all(self, request: FixAll) -> Edits | Stale:
        held = self._current(request.path, request.revision)
        if held is None:
            return Stale()

        def check(files: Mapping[str, File]) -> list[Finding]:
            findings, _ = self._check(held.request, files[request.path].source, held.settings)
            return [found for found in findings if request.code in (None, found.code)]

        mended = mend({request.path: Buffer.of_source(held.source)}, check, unsafe=False)
        self._project_of(held.request).overlay(request.path, held.source.text)
        after = mended.files[request.path].source.text
        return Edits(tuple(held.views.edit(edit) for edit in edits_between(request.path, held.source.text, after)))

    def _current(self, path: str, revision: int) -> Held | None:
        held = self._held.get(path)
        return held if held is not None and held.request.revision == revision else None

    def _project_of(self, request: Analyse) -> Project:
        root = request.root or os.path.dirname(request.path)
        if root not in self._projects:
            project = self._projects[root] = Project.for_paths([root or request.path])
            for held in self._held.values():
                project.overlay(held.request.path, held.source.text)
        return self._projects[root]

    def _source_of(self, path: str) -> Source | None:
        if path in self._held:
            return self._held[path].source
        try:
            return Source.from_path(path)
        except SourceError:
            return None

    def _load_settings(self, path: str) -> Loaded:
        folder = os.path.dirname(path)
        now = time.monotonic()
        known = self._settings.get(folder)
        if known is None or now - known[0] > SETTINGS_LIVE:
            known = self._settings[folder] = (now, load_settings(folder))
        return known[1]


def _is_excluded(request: Analyse, settings: Settings) -> bool:
    root = settings.root or request.root
    if root is None or not os.path.isabs(request.path):
        return False
    relative = os.path.relpath(request.path, root)
    return not relative.startswith("..") and GitIgnoreSpec.from_lines(settings.excluded).match_file(relative)


def _is_mended_by_all(finding: Finding, code: str) -> bool:
    return (
        finding.code == code
        and finding.severity is not Severity.HINT
        and any(fix.applicability is Applicability.SAFE for fix in finding.fixes)
    )


def _rule_view(code: str) -> RuleView | None:
    rule = RULES.get(code)
    if rule is None:
        return None
    return RuleView(rule.code, rule.name, rule.summary, rule.explanation, _url_of(code))


def _url_of(code: str) -> str | None:
    return None
