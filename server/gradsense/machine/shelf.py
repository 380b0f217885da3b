"""Files of the workspace whose module level was run before: all paths and programs that import them take them as they
were left, instead of running them again.

A file is kept only if running it did nothing but define things: no tensors, no walks, no findings. It is not taken
where the path at hand would have run it otherwise: a branch in it is flipped, it imports the program itself, something
was learnt about it, or a part of it changed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradsense.machine.heap import Heap
from gradsense.machine.limits import SIZE
from gradsense.machine.tri import YES
from gradsense.machine.values import ProgramModule, Site, origin_of
from gradsense.syntax.parse import ParsedModule

if TYPE_CHECKING:
    from gradsense.machine.imports import Imports
    from gradsense.machine.state import BranchKey


@dataclass
class Traces:
    """What running a module level left on the machine, apart from its variables."""

    called: set[ast.AST] = field(default_factory=set)
    handed_over: set[ast.AST] = field(default_factory=set)
    reached: set[tuple[str, int]] = field(default_factory=set)
    branches: dict[BranchKey, bool] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def copy(self) -> Traces:
        """The same, untouched by what the machine does next."""
        return Traces(
            set(self.called), set(self.handed_over), set(self.reached), dict(self.branches), set(self.left_out)
        )

    def leave_on(self, machine: Imports) -> None:
        """Adds them to those of a machine."""
        machine.called |= self.called
        machine.handed_over |= self.handed_over
        machine.reached |= self.reached
        machine.left_out |= self.left_out
        for key, default in self.branches.items():
            machine.branches.setdefault(key, default)


def traces_of(machine: Imports) -> Traces:
    """What is on the machine now."""
    return Traces(machine.called, machine.handed_over, machine.reached, machine.branches, machine.left_out)


class Kept:
    """A file that was run, with those that it imports in a circle.

    Args:
        modules: the files, by their real paths.
        parsed: what was run.
        needs: what they import, and what that imports; nothing of it twice, what is needed first.
        heap: what they left behind.
        traces: what else they did.
        order: how far the machine had counted.
    """

    def __init__(
        self,
        modules: dict[str, ProgramModule],
        parsed: dict[str, ParsedModule],
        needs: list[Kept],
        heap: Heap,
        traces: Traces,
        order: int,
    ) -> None:
        self.modules = modules
        self.parsed = parsed
        self.parts = [*needs, self]
        self.heap = heap
        self.traces = traces
        self.order = order
        self.paths: set[str] = {path for part in needs for path in part.paths} | modules.keys()
        self.names: set[str] = {name for part in needs for name in part.names} | {
            p.source.path for p in parsed.values()
        }


class Loading:
    """A file while its module level is being run.

    Attributes:
        imports: the files that it imported, or that those in a circle with it did.
        circle: the files that import this one or one above it, and are imported by this one.
        lowest: how deep the outermost file lies that this one came back to.
        sound: whether it may be kept.
    """

    def __init__(self, machine: Imports, path: str, depth: int) -> None:
        self.imports: set[str] = set()
        self.circle = {path}
        self.depth = self.lowest = depth
        self.sound = not machine.inference and machine.grad_mode is YES and not machine.autocast
        self.before = marks(machine)
        self.optimizers = len(machine.optimizers)
        self.outer = traces_of(machine)
        machine.called, machine.handed_over, machine.reached, machine.branches = (set(), set(), set(), {})
        machine.left_out = set()


def marks(machine: Imports) -> tuple[object, ...]:
    """What stays the same while nothing but definitions is run."""
    return (
        len(machine.events),
        len(machine.walks),
        len(machine.escaped),
        len(machine.forwards),
        len(machine.growths),
        len(machine.failures),
        len(machine.sites),
        machine.node_count,
        machine.new_facts,
    )


class Shelf:
    """The files that are kept, by their real paths."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._ids: set[int] = set()

    def clear(self) -> None:
        """Drops everything, since an import may mean another file now."""
        self._kept.clear()
        self._ids.clear()

    @property
    def ids(self) -> set[int]:
        """The ids of the values that the kept files look after."""
        return self._ids

    def take(self, machine: Imports, path: str) -> ProgramModule | None:
        """The module as it was left, put into the machine with all that it needs; None if it has to be run."""
        kept = self._kept.get(path)
        if kept is None or not self._fits(kept, machine):
            return None
        new = [part for part in kept.parts if part not in machine.taken]
        for part in new:
            if not part.heap.restore():
                self._drop(part)
                return None
        for part in new:
            machine.taken[part] = None
            machine.loaded.update(part.modules)
            part.traces.leave_on(machine)
            machine.order = max(machine.order, part.order)
        return kept.modules[path]

    def _fits(self, kept: Kept, machine: Imports) -> bool:
        if machine.main in kept.paths or any(key[0] in kept.names for key in machine.forced):
            return False
        if any(_root(site) in kept.names for site in machine.knowledge.facts):
            return False
        for part in kept.parts:
            if part in machine.taken:
                continue
            if not all(machine.workspace.holds(path, parsed) for path, parsed in part.parsed.items()):
                self._drop(part)
                return False
            if any(machine.loaded.get(path, module) is not module for path, module in part.modules.items()):
                return False
        return True

    def _drop(self, part: Kept) -> None:
        self._kept = {path: kept for path, kept in self._kept.items() if part not in kept.parts}
        self._ids = {i for kept in self._kept.values() for i in kept.heap.ids}

    # ------------------------------------------------------------------ keeping

    def begin(self, machine: Imports, path: str) -> None:
        """A file that is not kept is about to be run."""
        machine.loading.append(Loading(machine, path, len(machine.loading)))

    def came_back(self, machine: Imports, path: str) -> None:
        """Something imports a file that was loaded already, or is being loaded."""
        if not machine.loading or (path != machine.main and machine.workspace.held(path) is None):
            return
        current = machine.loading[-1]
        if path == machine.main:
            current.sound = False
        current.imports.add(path)
        for loading in machine.loading:
            if path in loading.circle:
                current.lowest = min(current.lowest, loading.depth)

    def end(self, machine: Imports, path: str, finished: bool) -> None:
        """A file was run: keeps it if that is sound."""
        loading = machine.loading.pop()
        traces, outer = traces_of(machine), loading.outer
        sound = loading.sound and finished and traces.left_out <= {SIZE} and loading.before == marks(machine)
        sound = sound and len(machine.optimizers) == loading.optimizers
        machine.called, machine.handed_over, machine.reached = (outer.called, outer.handed_over, outer.reached)
        machine.branches, machine.left_out = outer.branches, outer.left_out
        traces.leave_on(machine)
        above = machine.loading[-1] if machine.loading else None
        if loading.lowest < loading.depth and above is not None:
            # In a circle that closes further out: to be kept there, if at all.
            above.circle |= loading.circle
            above.imports |= loading.imports
            above.lowest = min(above.lowest, loading.lowest)
        elif sound:
            sound = self._keep(machine, path, loading, traces)
        if above is not None:
            above.imports.add(path)
            above.sound = above.sound and sound

    def _keep(self, machine: Imports, path: str, loading: Loading, traces: Traces) -> bool:
        needs: dict[Kept, None] = {}
        for imported in sorted(loading.imports - loading.circle):
            part = self._kept.get(imported)
            if part is None or any(machine.loaded[p] is not module for p, module in part.modules.items()):
                return False
            needs.update(dict.fromkeys(part.parts))
        if any(part.heap.changed() for part in needs):
            # It entered something there, as a class into a registry, which is undone when that is taken again.
            return False
        modules = {p: machine.loaded[p] for p in loading.circle}
        heap = Heap([module.frame for module in modules.values()], self._ids)
        if not heap.static:
            return False
        parsed = {p: module for p in modules if (module := machine.workspace.held(p)) is not None}
        kept = Kept(modules, parsed, list(needs), heap, traces, machine.order)
        if any(_root(site) in kept.names for site in machine.knowledge.facts):
            return False
        self._kept[path] = kept
        self._ids |= heap.ids
        machine.taken[kept] = None
        return True


def _root(site: Site) -> object:
    """The file at whose module level the calls began that led to a site."""
    path, stack = origin_of(site)
    return stack[0][0] if stack else path
