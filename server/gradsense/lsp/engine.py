"""The analysis behind the worker: answers requests with what the rules find.

It keeps the last analysis of every open document, so that fixes are worked out when somebody asks for them.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from pathspec import GitIgnoreSpec

from gradsense import filtering
from gradsense.check import Project, check_source
from gradsense.config import Loaded, Settings, load_settings, settings_from
from gradsense.files import File, with_newline
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
from gradsense.machine.limits import Limits
from gradsense.mending import mend
from gradsense.rules.finding import Finding
from gradsense.rules.registry import all_rules
from gradsense.syntax import ParsedModule, Source, SourceError, parse

SETTINGS_LIVE = 2.0
"""Seconds for which settings files are not looked at again."""

LIMITS = Limits(seconds=5.0)
"""Half of what the server allows: an answer in part is better than a worker that is ended."""


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
        all_rules()
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
            self._forget(request.path)
        elif isinstance(request, FilesChanged):
            self._settings.clear()
            for path in request.paths:
                self._forget(path)
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
        self._forget(request.path)
        report = check_source(source, self._project_of(request), LIMITS)
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
        return Fixes(tuple(fixes), tuple(suppressions))

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
        self._forget(request.path)
        after = mended.files[request.path].source.text
        return Edits(tuple(held.views.edit(edit) for edit in edits_between(request.path, held.source.text, after)))

    def _current(self, path: str, revision: int) -> Held | None:
        held = self._held.get(path)
        return held if held is not None and held.request.revision == revision else None

    def _project_of(self, request: Analyse) -> Project:
        place = request.root or request.path
        if place not in self._projects:
            self._projects[place] = Project(Project.for_paths([place]).roots, self._read)
        return self._projects[place]

    def _forget(self, path: str) -> None:
        for project in self._projects.values():
            project.forget(path)

    def _read(self, path: str) -> Source:
        """What an import finds: the editor's text where the file is open, the file elsewhere."""
        real = os.path.realpath(path)
        held = next((held for name, held in self._held.items() if os.path.realpath(name) == real), None)
        return Source.from_path(path) if held is None else held.source

    def _source_of(self, path: str) -> Source | None:
        if path in self._held:
            return self._held[path].source
        try:
            return self._read(path)
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


def _rule_view(code: str) -> RuleView | None:
    if code == filtering.UNUSED_IGNORE:
        return RuleView(code, filtering.NAME, filtering.PAGE.strip(), None)
    rule = all_rules().get(code)
    return None if rule is None else RuleView(code, rule.name, rule.page, _url_of(code))


@cache
def _url_of(code: str) -> str | None:
    """The file that holds the rule and its page."""
    rule = all_rules().get(code)
    return None if rule is None else Path(inspect.getfile(type(rule))).as_uri()
