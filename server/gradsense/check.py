"""Checking: from sources to findings."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gradsense.machine.events import Event
from gradsense.machine.explore import explore
from gradsense.machine.limits import Limits
from gradsense.machine.modules import Workspace
from gradsense.machine.outcomes import Exploration
from gradsense.machine.outside import Outside
from gradsense.project import project_root
from gradsense.rules.editing import is_parsed
from gradsense.rules.finding import Finding
from gradsense.rules.registry import findings_of
from gradsense.syntax.parse import ParsedModule, parse
from gradsense.syntax.source import Source, SourceError

# A file without any of these words has no gradients.
WORDS = ("torch", "backward", "lightning", "accelerate")


@dataclass(frozen=True)
class Note:
    """Something a person may want to know about the check itself: what was cut, what could not be read."""

    path: str
    line: int
    message: str


@dataclass
class Report:
    """What a check found, before settings and suppressions.

    Attributes:
        findings: sorted by file and place.
        notes: what was left out.
        sites: every walk that was reached, by place, and whether its graph was fully known.
        doubts: why it was not, on at least one path.
        paths: how many paths were run.
        failures: statements that the machine itself could not run; for its developers.
    """

    findings: list[Finding] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    sites: dict[tuple[object, ...], bool] = field(default_factory=dict)
    doubts: dict[tuple[object, ...], str] = field(default_factory=dict)
    paths: int = 0
    failures: list[str] = field(default_factory=list)


class Project:
    """The folders that imports are found in, and the files read so far.

    Args:
        roots: folders that absolute imports start from.
        read: reads a file's source; an editor gives its unsaved text.
        outside: what is known of other packages.
    """

    def __init__(
        self,
        roots: Sequence[str] = (),
        read: Callable[[str], Source] | None = None,
        outside: Outside | None = None,
    ) -> None:
        self.roots = tuple(roots)
        self.workspace = Workspace(roots, read, outside)

    @classmethod
    def for_paths(cls, paths: Iterable[str]) -> Project:
        """The project of files or folders named on a command line: their folders, and those of their pyproject.toml."""
        roots: list[str] = []
        for path in paths:
            folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
            for root in (os.path.abspath(folder), project_root(folder)):
                if root not in roots:
                    roots.append(root)
        return cls(roots)

    def overlay(self, path: str, text: str) -> None:
        """Takes a file's unsaved text."""
        self.workspace.forget(path)
        self.workspace.add(parse(Source.from_text(path, text)))

    def forget(self, path: str) -> bool:
        """Drops a file that changed on disk; whether names of imports may mean other files now."""
        return self.workspace.forget(path)


def check_source(
    source: Source, project: Project | None = None, limits: Limits | None = None, *, first_path_only: bool = False
) -> Report:
    """Checks one file.

    Args:
        source: its text.
        project: where its imports are found; by default the file's own folder.
        limits: bounds on work.
        first_path_only: run one path of each function only, for an answer while a person types.
    """
    report = Report()
    if project is None:
        project = Project.for_paths([source.path]) if source.path and os.path.exists(source.path) else Project()
    if not any(word in source.text for word in WORDS):
        return report

    module = parse(source)
    project.workspace.add(module)
    _note_problems(report, module)
    _run(report, [module], project, limits, first_path_only)
    return report


def check_program(project: Project, paths: Sequence[str], limits: Limits | None = None) -> Report:
    """Checks several files as one program: a function is run by itself only where no file reaches it.

    Args:
        project: the folders of the program.
        paths: its files; one that can't be read becomes a note.
    """
    report = Report()
    modules: list[ParsedModule] = []
    for path in paths:
        try:
            modules.append(project.workspace.load(path))
        except (OSError, SourceError) as error:
            report.notes.append(Note(path, 1, str(error)))
    relevant = [m for m in modules if any(word in m.source.text for word in WORDS)]
    for module in relevant:
        _note_problems(report, module)
    _run(report, _entries_first(relevant, project), project, limits, False)
    return report


def _run(
    report: Report, modules: Sequence[ParsedModule], project: Project, limits: Limits | None, first_path_only: bool
) -> None:
    called: set[ast.AST] = set()
    events: list[Event] = []
    whole = False
    for module in modules:
        found = explore(module, project.workspace, limits, already_called=called, first_path_only=first_path_only)
        called |= found.called
        events += found.events
        whole = whole or found.walks_by_itself
        _take(report, module, found)
    if whole:
        # The program shows all its callers: none need be assumed.
        events = [e for e in events if not e.assumed]
    is_parsed(modules)
    report.findings = list(findings_of(events, report.failures))


def _take(report: Report, module: ParsedModule, found: Exploration) -> None:
    for key, known in found.sites.items():
        report.sites[key] = report.sites.get(key, False) or known
    report.doubts.update(found.doubts)
    report.paths += found.paths
    report.failures += found.failures
    if found.left_out:
        what = ", ".join(sorted(found.left_out))
        report.notes.append(Note(module.source.path, 1, f"not all of this file was followed: {what}"))


def _note_problems(report: Report, module: ParsedModule) -> None:
    for problem in module.problems:
        report.notes.append(Note(module.source.path, problem.line, problem.message))


def _entries_first(modules: list[ParsedModule], project: Project) -> list[ParsedModule]:
    """Files that no other imports come first: what they reach is then not run by itself."""
    paths = {os.path.realpath(m.source.path): m for m in modules}
    imported: set[str] = set()
    for path, module in paths.items():
        for found in imports_of(module, project.workspace):
            if found != path:
                imported.add(found)
    return sorted(modules, key=lambda m: (os.path.realpath(m.source.path) in imported, m.source.path))


def imports_of(module: ParsedModule, workspace: Workspace) -> set[str]:
    """The files of the workspace that a file imports."""
    return set(map(os.path.realpath, workspace.imports(module, ast.walk(module.tree))))
