"""Checking a file while it is typed: what a change of its text can have changed is found anew, and nothing else."""

from __future__ import annotations

import ast
import math
import time
from dataclasses import replace

from gradsense.check import WORDS, Note, Project, Report
from gradsense.machine.explore import Explorer
from gradsense.machine.limits import Limits
from gradsense.rules.editing import is_parsed
from gradsense.rules.finding import Finding, Related
from gradsense.rules.registry import findings_of
from gradsense.syntax.grafting import Stretch
from gradsense.syntax.live import Edit, LiveModule
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

GLANCE = 0.02
"""Seconds that an answer to a keystroke may take."""

PEEK = 0.1
"""Seconds before there is a first answer."""


class LiveCheck:
    """An open file and what is found in it.

    Args:
        source: its text at first.
        project: where its imports are found.
        limits: bounds on work.
    """

    def __init__(self, source: Source, project: Project, limits: Limits) -> None:
        self._live = LiveModule(source)
        self._project = project
        self._limits = limits
        # Where nothing could be kept: what was found before, and how long it takes to look again.
        self._carried: list[Finding] | None = None
        self._cost = 0.0
        self._start()

    @property
    def source(self) -> Source:
        """The file's text; the object stays the same while the text changes."""
        return self._live.source

    @property
    def tree(self) -> ast.Module:
        """The file's tree."""
        return self._live.module.tree

    @property
    def project(self) -> Project:
        """Where its imports are found."""
        return self._project

    @property
    def is_settled(self) -> bool:
        """Whether everything that can be known of the text as it is was found out."""
        return self._explorer is None or (self._explorer.is_settled and not self._is_behind)

    @property
    def is_seen(self) -> bool:
        """Whether at least one path of everything was run."""
        return self._explorer is None or self._explorer.is_seen

    # ------------------------------------------------------------------ changes

    def update(self, source: Source) -> Edit:
        """Takes the text as it is now."""
        findings = self._last
        edit = self._live.update(source)
        self._take(edit)
        if edit.again:
            self._carried = [_moved(finding, edit.stretch) for finding in findings]
        elif self._carried is not None:
            self._carried = [_moved(finding, edit.stretch) for finding in self._carried]
        return edit

    def file_changed(self, path: str) -> None:
        """Takes note that another file of the workspace changed, named by its real path."""
        if self._explorer is not None:
            self._explorer.file_changed(path)

    def names_changed(self) -> None:
        """Takes note that imports may find other files than before."""
        if self._explorer is not None:
            self._explorer.cells_changed(0)
            self._explorer.all_changed()

    def _start(self) -> None:
        """Begins anew."""
        self._explorer: Explorer | None = None
        self._edited: set[ast.AST] = set()
        self._last: list[Finding] = []
        self._is_behind = False
        self._explore()

    def _explore(self) -> None:
        """Has something that runs the program, if there is anything in it to be found."""
        if not any(word in self.source.text for word in WORDS):
            self._explorer = None
            self._carried = None
        elif self._explorer is None:
            self._explorer = self._new_explorer(self._limits)

    def _new_explorer(self, limits: Limits) -> Explorer:
        explorer = Explorer(self._live.module, self._project.workspace, limits)
        explorer.is_cautious = True
        return explorer

    def _take(self, edit: Edit) -> None:
        """Passes on what an edit changed."""
        if edit.again:
            self._explorer = None
        self._explore()
        explorer = self._explorer
        if explorer is None:
            return
        self._is_behind = self._is_behind or self._live.is_unread
        explorer.program = self._live.module
        explorer.frozen = set(self._live.broken)
        explorer.frozen_level = self._live.broken_outside
        self._edited = set(edit.functions)
        if edit.first_cell is not None:
            explorer.cells_changed(edit.first_cell)
        if not edit.nothing:
            explorer.changed(edit.functions, edit.outside)
        if edit.stretch.delta:
            explorer.moved(edit.stretch.moved)

    # ------------------------------------------------------------------ running

    def peek(self) -> None:
        """Runs one path of everything where nothing was run yet; if that takes too long, as far as it gets.

        Then what surely raises is told, and a run of everything is to follow: it knows what grows, what is never
        walked, and what other paths take back.
        """
        if self._explorer is None or self._explorer.has_begun or self._carried is not None:
            self.glance()
            return
        self.attach()
        limits = replace(self._limits, seconds=PEEK)
        explorer = self._new_explorer(limits)
        explorer.run(first_path_only=True)
        found = explorer.found()
        if explorer.is_seen and not found.left_out:
            explorer.limits = self._limits
            self._explorer = explorer
            return
        events = (e for e in found.events if e.raises and e.certain and not e.assumed)
        self._carried = list(findings_of(events, []))
        # Nobody knows yet how long it takes: too long for an answer to a keystroke.
        self._cost = math.inf

    def glance(self, seconds: float = GLANCE) -> None:
        """Runs one path of all that may have changed if that is quick, else of what was just edited."""
        if self._explorer is None or self.is_seen:
            return
        left = self._cost if self._carried is not None else self._explorer.cost
        if left <= seconds:
            self.look()
        elif self._carried is None:
            self.attach()
            self._explorer.glance(self._edited, seconds)

    def look(self) -> None:
        """Runs one path of everything that may have changed."""
        if self._explorer is not None and not self.is_seen:
            self.attach()
            start = time.thread_time()
            self._explorer.run(first_path_only=True)
            if self._carried is not None:
                self._cost = time.thread_time() - start
            self._carried = None

    def settle(self) -> None:
        """Runs everything that may have changed along all paths."""
        if self._explorer is not None and not self.is_settled:
            self._catch_up()
            self.attach()
            self._explorer.run()
            self._carried = None
            if self._explorer.is_settled and not self._live.is_broken:
                self._live.forget_gone()

    def attach(self) -> None:
        """Has imports of this file find it as it is here."""
        self._project.workspace.add(self._live.module)

    def _catch_up(self) -> None:
        """Where the text is broken, sees whether the whole of it is."""
        if self._is_behind:
            self._is_behind = False
            self._take(self._live.update(self.source, thorough=True))
            self._is_behind = False

    # ------------------------------------------------------------------ findings

    def report(self) -> Report:
        """What is found in the text as it is; what was not run again yet is as it was, and moved."""
        report = Report()
        if self._explorer is None:
            self._last = []
            return report
        for problem in self._live.module.problems:
            report.notes.append(Note(self.source.path, problem.line, problem.message))
        if self._carried is not None:
            report.findings = self._last = list(self._carried)
            return report
        found = self._explorer.found()
        events = found.events
        if found.walks_by_itself:
            # The program shows all its callers: none need be assumed.
            events = [event for event in events if not event.assumed]
        report.paths, report.failures = found.paths, found.failures
        if found.left_out:
            what = ", ".join(sorted(found.left_out))
            report.notes.append(Note(self.source.path, 1, f"not all of this file was followed: {what}"))
        if not self._live.is_broken:
            is_parsed([self._live.module])
        report.findings = list(findings_of(events, report.failures))
        old = {_identity(f) for f in findings_of(self._explorer.out_of_date(), [])}
        for finding in report.findings:
            if _identity(finding) in old:
                # A fix of what may not be there any more would break something.
                finding.make_fixes = tuple
        self._last = list(report.findings)
        return report


def _identity(finding: Finding) -> tuple[str, str, Span]:
    return (finding.code, finding.path, finding.span)


def _moved(finding: Finding, stretch: Stretch) -> Finding:
    def span(old: Span) -> Span:
        return Span(stretch.moved(old.line), old.column, stretch.moved(old.end_line), old.end_column)

    def related(old: Related) -> Related:
        return replace(old, span=span(old.span)) if old.path == finding.path else old

    return replace(finding, span=span(finding.span), related=tuple(map(related, finding.related)), make_fixes=tuple)
