"""The analysis behind the worker: answers requests with what the rules find.

It keeps the last analysis of every open document, so that fixes are worked out when somebody asks for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from gradsense import filtering
from gradsense.check import Project, Report, check_source
from gradsense.config import Loaded, Settings, load_settings, settings_from
from gradsense.live import LiveCheck
from gradsense.lsp.answers.about import ANSWERS
from gradsense.lsp.answers.elsewhere import at_home
from gradsense.lsp.held import Held, source_of
from gradsense.lsp.messages import (
    About,
    Analyse,
    Analysis,
    CheckedFile,
    CheckFile,
    Done,
    Explain,
    ExplainText,
    FilesChanged,
    Forget,
    Interrupted,
    Learn,
    ListFiles,
    Page,
    Reply,
    Request,
    RuleView,
    Stage,
    Stale,
)
from gradsense.lsp.views import Views
from gradsense.machine import limits
from gradsense.machine.limits import Limits
from gradsense.machine.outside import Outside
from gradsense.rules.finding import Finding
from gradsense.rules.page_files import page_file
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source, SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SETTINGS_LIVE = 2.0
"""Seconds for which settings files are not looked at again."""

LIMITS = Limits(seconds=5.0)
"""Far less than the server allows: an answer in part is better than a worker that is ended."""

FIRST = """\
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x):
        return self.layers(x.view(-1, 8)) * 2 + x.mean(dim=1, keepdim=True)

def train(net, loader):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for index, (x, y) in enumerate(loader):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if index % 10 == 0:
            print(f"{loss.item():.3f}")

train(Net(), [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(20)])
"""


def _nobody() -> bool:
    return False


class AnalysisEngine:
    """Answers the server's requests, one after another."""

    def __init__(self) -> None:
        all_rules()
        self._held: dict[str, Held] = {}
        self._projects: dict[str, Project] = {}
        self._outside: dict[str, Outside] = {}
        self._settings: dict[str, tuple[float, Loaded]] = {}
        self._waiting: Callable[[], bool] = _nobody
        self._limits = replace(LIMITS, interrupted=lambda: self._waiting())
        self._others: Mapping[type[Any], Callable[[Any], Reply]] = {
            Explain: lambda request: Page(_rule_view(request.code)),
            ExplainText: self._explain_text,
            ListFiles: _list_files,
            CheckFile: self._check_file,
            Learn: self._learn,
            Forget: self._forget,
            FilesChanged: self._files_changed,
        }

    def answer(self, request: Request, waiting: Callable[[], bool] = _nobody) -> Reply:
        """Answers one request.

        Args:
            waiting: says whether another request has come meanwhile, which an analysis makes way for.
        """
        if isinstance(request, Analyse):
            return self._analyse_unless(request, waiting)
        if isinstance(request, About):
            held = self._held.get(request.path)
            if held is None or held.request.revision != request.revision:
                return Stale()
            return ANSWERS[type(request)](held, request, LIMITS) or Stale()
        return self._others[type(request)](request)

    def _analyse_unless(self, request: Analyse, waiting: Callable[[], bool]) -> Reply:
        self._waiting = waiting
        try:
            return self._analyse(request)
        except limits.Interrupted:
            return Interrupted()
        finally:
            self._waiting = _nobody

    def prepare(self) -> None:
        """Analyses a small program: what is read and compiled at first use is there then."""
        path = os.path.join(os.path.dirname(__file__), "first.py")
        self._analyse(Analyse(path, FIRST, 0, "utf-16", os.path.dirname(path), {}))
        self._held.clear()
        self._projects.clear()
        self._settings.clear()

    # ------------------------------------------------------------------ open programs

    def _analyse(self, request: Analyse) -> Analysis:
        start = time.perf_counter()
        loaded = self._load_settings(request.path)
        settings, bad = settings_from(request.overrides, loaded.settings, "the editor's settings")
        held = self._update(request, settings)
        notes: tuple[str, ...] = ()
        reached = Stage.WHOLE
        if _is_excluded(request, settings):
            held.number(())
        else:
            reached, notes = self._find(held)
        return Analysis(
            path=request.path,
            revision=request.revision,
            findings=tuple(held.views.finding(number, finding) for number, finding in held.findings.items()),
            notes=notes,
            problems=tuple(str(problem) for problem in (*loaded.problems, *bad)),
            seconds=time.perf_counter() - start,
            reached=reached,
            questions=tuple(held.check.project.workspace.outside.open),
        )

    def _update(self, request: Analyse, settings: Settings) -> Held:
        """Takes the text of a request."""
        source = source_of(request)
        project = self._project_of(request)
        names = {cell.index: cell.name for cell in request.cells or ()}
        views = Views(request.encoding, self._source_of, _url_of, names)
        held = self._held.get(request.path)
        if held is None or held.check.project is not project:
            # In the project from now on, in place of the file on disk.
            self._changed(request.path)
            held = self._held[request.path] = Held(request, LiveCheck(source, project, self._limits), settings, views)
            return held
        held.begin(request)
        held.settings, held.views = settings, views
        edit = held.check.update(source)
        held.idle = {edit.stretch.moved(line) for line in held.idle}
        if not edit.nothing or edit.stretch.delta:
            self._changed(request.path)
            held.check.attach()
        return held

    def _find(self, held: Held) -> tuple[Stage, tuple[str, ...]]:
        """Goes as far as the request says; how far that was in the end, and what there is to tell."""
        check = held.check
        if held.request.stage is Stage.PEEK:
            check.peek()
        elif held.request.stage is Stage.GLANCE:
            check.glance()
        elif held.request.stage is Stage.LOOK:
            check.look()
        else:
            check.settle()
        reached = Stage.WHOLE if check.is_settled else Stage.LOOK if check.is_seen else Stage.GLANCE
        report = check.report()
        own = _own(report, check.source, held.settings, check.project, self._is_shown)
        if reached is Stage.WHOLE:
            held.idle = {found.span.line for found in own if found.code == filtering.UNUSED_IGNORE}
        else:
            # What such a comment silences may not have been looked at yet.
            own = [f for f in own if f.code != filtering.UNUSED_IGNORE or f.span.line in held.idle]
        held.number(own)
        return reached, _notes(report, check.source)

    def _check_file(self, request: CheckFile) -> CheckedFile:
        """Checks a file that nobody has open, and keeps nothing of it."""
        start = time.perf_counter()
        path = request.path
        try:
            if os.path.getsize(path) > request.megabytes * 1e6:
                raise SourceError("it is too large")
            text = Source.from_path(path).text
        except (SourceError, OSError) as error:
            return CheckedFile(Analysis(path, 0, (), (str(error),), (), 0.0), ())
        analysed = Analyse(path, text, 0, request.encoding, request.root, request.overrides)
        loaded = self._load_settings(path)
        settings, bad = settings_from(request.overrides, loaded.settings, "the editor's settings")
        source, project = source_of(analysed), self._project_of(analysed)
        findings: list[Finding] = []
        notes: tuple[str, ...] = ()
        if not _is_excluded(analysed, settings):
            self._changed(path)
            report = check_source(source, project, LIMITS)
            findings, notes = _own(report, source, settings, project, self._is_shown), _notes(report, source)
        views = Views(request.encoding, self._source_of, _url_of)
        analysis = Analysis(
            path=path,
            revision=0,
            findings=tuple(views.finding(number, finding) for number, finding in enumerate(findings)),
            notes=notes,
            problems=tuple(str(problem) for problem in (*loaded.problems, *bad)),
            seconds=time.perf_counter() - start,
        )
        from gradsense.lsp.answers.workspace import imported_by

        return CheckedFile(analysis, imported_by(path, project))

    def _explain_text(self, request: ExplainText) -> Reply:
        from gradsense.lsp.answers.explain import explain_text

        held = self._held.get(request.path or "")
        views = held.views if held is not None else Views(request.encoding, self._source_of, _url_of)
        return explain_text(request, views, self._read, LIMITS)

    def _is_shown(self, finding: Finding) -> bool:
        """Whether an open file has a finding by itself."""
        held = self._held.get(finding.path)
        return held is not None and any(
            (one.code, one.span.line) == (finding.code, finding.span.line) and one.path == finding.path
            for one in held.findings.values()
        )

    def _project_of(self, request: Analyse) -> Project:
        place = request.root or request.path
        if place not in self._projects:
            outside = self._outside.setdefault(place, Outside())
            self._projects[place] = Project(Project.for_paths([place]).roots, self._read, outside)
        return self._projects[place]

    def _learn(self, request: Learn) -> Done:
        """Takes answers; what was worked out without them is of no more use."""
        self._outside[request.root] = Outside(request.known)
        self._projects.pop(request.root, None)
        return Done()

    def _forget(self, request: Forget) -> Done:
        if self._held.pop(request.path, None) is not None:
            self._changed(request.path)
        return Done()

    def _files_changed(self, request: FilesChanged) -> Done:
        self._settings.clear()
        for path in request.paths:
            # What is on disk does not matter where the editor has the file open.
            if path not in self._held:
                self._changed(path)
        return Done()

    def _changed(self, path: str) -> None:
        """Tells those that may depend on a file."""
        real = os.path.realpath(path)
        for project in self._projects.values():
            names_changed = project.forget(path)
            for other in self._held.values():
                if other.check.project is project and other.request.path != path:
                    other.check.file_changed(real)
                    if names_changed:
                        other.check.names_changed()

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


def _list_files(request: ListFiles) -> Reply:
    from gradsense.lsp.answers.workspace import list_files

    return list_files(request)


def _own(
    report: Report, source: Source, settings: Settings, project: Project, shown: Callable[[Finding], bool]
) -> list[Finding]:
    """What there is to show in a program itself."""

    def source_of(path: str) -> Source | None:
        parsed = project.workspace.parsed(path)
        return None if parsed is None else parsed.source

    report.findings = list(at_home(report.findings, source.path, source_of, shown))
    return filtering.apply(report, {source.path: source}, settings)


def _notes(report: Report, source: Source) -> tuple[str, ...]:
    return tuple(f"{_line(source, note.line)}: {note.message}" for note in report.notes)


def _line(source: Source, line: int) -> str:
    cell = source.cell_at(line)
    return f"line {line}" if cell is None else f"cell {cell[0] + 1} line {cell[1]}"


def _is_excluded(request: Analyse, settings: Settings) -> bool:
    root = settings.root or request.root
    if root is None or not os.path.isabs(request.path):
        return False
    relative = os.path.relpath(request.path, root)
    return not relative.startswith("..") and _exclusion(tuple(settings.excluded)).match_file(relative)


@lru_cache(maxsize=16)
def _exclusion(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def _rule_view(code: str) -> RuleView | None:
    if code == filtering.UNUSED_IGNORE:
        return RuleView(code, filtering.NAME, filtering.PAGE.strip(), _url_of(code))
    rule = all_rules().get(code)
    return None if rule is None else RuleView(code, rule.name, rule.page, _url_of(code))


@cache
def _url_of(code: str) -> str | None:
    """The rule's page, a file beside the rules: it can be read without a network."""
    page = page_file(code)
    return page.as_uri() if page.is_file() else None
