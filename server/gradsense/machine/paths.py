"""Running one unit of a program along several paths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradsense.machine.interpreter import Machine
from gradsense.machine.level import ModuleLevel
from gradsense.machine.limits import Limits
from gradsense.machine.modules import Workspace
from gradsense.machine.state import BranchKey, Knowledge
from gradsense.machine.trail import NoTrail
from gradsense.machine.units import Unit, runner
from gradsense.machine.values import Site, origin_of
from gradsense.syntax.parse import ParsedModule

# A fact that is learnt starts the path anew, at most so often.
LEARNING_ROUNDS = 3
# Branches that one path may have flipped at once.
MOST_FLIPS = 3


@dataclass
class _Path:
    """What is kept of a path that was run.

    Args:
        print: equal for paths that did the same and on which the same was found.
        offered: its branches that another path may take the other way.
        weighty: those of its branches that did what weighs.
        winding: those that may do something else where values are others.
    """

    print: object
    offered: dict[BranchKey, bool]
    weighty: set[BranchKey]
    winding: set[BranchKey]

    @classmethod
    def of(cls, machine: Machine) -> _Path:
        """The path that a machine has run."""
        found = frozenset((event.key, event.sure, event.caught) for event in machine.events)
        bounds = (frozenset(machine.left_out), machine.ended_early, machine.new_facts)
        sites = (frozenset(machine.sites.items()), frozenset(machine.doubts.items()))
        return cls((machine.trail.code, found, sites, bounds), machine.offered(), machine.weighty, machine.winding)


@dataclass
class _Next:
    """A path to run: what is forced, which branch is flipped last, and the path without that."""

    forced: dict[BranchKey, bool]
    last: BranchKey | None
    before: _Path | None


@dataclass
class Paths:
    """What the paths of one unit have in common.

    Args:
        program: the file.
        workspace: where its imports are found.
        limits: bounds on work.
        knowledge: what is known of unknown values; what is learnt is added.
        level: where a unit starts.
        alone: whether one path is all that is run.
    """

    program: ParsedModule
    workspace: Workspace
    limits: Limits
    knowledge: Knowledge
    level: ModuleLevel
    alone: bool = False

    def run(self, unit: Unit | None, most: int, deadline: float) -> Iterator[Machine]:
        """Runs the first path, then paths with branches flipped; None is the module level.

        Every branch is flipped by itself. One that changes nothing else is not flipped together with others.
        """
        queue = [_Next({}, None, None)]
        seen: set[tuple[tuple[BranchKey, bool], ...]] = set()
        # Branches whose flip changed nothing, and cannot change anything as long as they do nothing when not flipped.
        inert: set[BranchKey] = set()
        count = combined = 0
        while queue and count < most:
            if count and time.thread_time() > deadline:
                break
            coming = queue.pop(0)
            forced, last, before = coming.forced, coming.last, coming.before
            if before is not None and last in inert and last not in before.weighty:
                continue
            if len(forced) > 1 and combined > self.limits.combined:
                break
            machine = self._run_learning(unit, forced, deadline)
            count += 1
            combined += machine.work if len(forced) > 1 else 0
            path = _Path.of(machine)
            offered = path.offered
            if before is not None and last is not None and path.print == before.print:
                if len(forced) == 1 and last not in before.weighty | path.weighty | path.winding:
                    inert.add(last)
                # What comes to light on this path only is the only thing to go on with.
                offered = {key: default for key, default in offered.items() if key not in before.offered}
            for key, default in offered.items():
                flipped = {**forced, key: not default}
                name = tuple(sorted(flipped.items()))
                if len(flipped) <= MOST_FLIPS and name not in seen and key not in forced:
                    seen.add(name)
                    queue.append(_Next(flipped, key, path))
            yield machine

    def _run_learning(self, unit: Unit | None, forced: dict[BranchKey, bool], deadline: float) -> Machine:
        """Runs one path, and again for as long as something is learnt from it."""
        known = len(self.knowledge.facts)
        machine = self.run_one(unit, forced, deadline)
        for _ in range(LEARNING_ROUNDS - 1):
            if not machine.new_facts or time.thread_time() > deadline:
                break
            if any(not is_within(unit, site) for site in list(self.knowledge.facts)[known:]):
                self.level.forget()
            machine = self.run_one(unit, forced, deadline)
        return machine

    def run_one(
        self, unit: Unit | None, forced: dict[BranchKey, bool], deadline: float, *, passes_errors: bool = False
    ) -> Machine:
        """Runs one path to its conclusion, or on behind the errors that it meets, as if they were mended."""
        machine = self.machine(forced, deadline)
        # What comes behind an error of the module level is told of the module level.
        machine.passes_errors = passes_errors and unit is None
        level = self.level
        if unit is None or not level.put_into(machine):
            machine.run_program(leaves_out=level.leaves_out if unit is not None else None)
            if not (forced or passes_errors):
                level.keep(machine)
        if unit is not None:
            machine.forget_module_level()
            machine.passes_errors = passes_errors
            run: Callable[[], None] | None = runner(machine, unit, level)
            if run is not None:
                machine.run_unit(run)
        machine.conclude()
        if unit is not None:
            level.finish(machine, unit.cls)
        return machine

    def machine(self, forced: dict[BranchKey, bool], deadline: float) -> Machine:
        """A machine that has not run anything yet."""
        machine = Machine(self.program, self.workspace, forced, self.knowledge, self.limits, deadline)
        if self.alone:
            machine.trail = NoTrail()
        return machine


def is_within(unit: Unit | None, site: Site) -> bool:
    """Whether a call was made by the unit and not at the module level."""
    _, stack = origin_of(site)
    if unit is None or not stack:
        return False
    return any(n is not None and stack[0][1:] == (n.lineno, n.col_offset) for n in (unit.node, unit.cls))
