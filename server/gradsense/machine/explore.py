"""Running a program along several paths, and what can be said of all of them together."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from gradsense.machine.events import (
    AnomalyOn,
    DeadTerm,
    Event,
    ForwardUnused,
    GradientsDiscarded,
    InplaceAllowed,
    LossNeverWalked,
    NeverReached,
    NoGraph,
    RetainedWalk,
)
from gradsense.machine.interpreter import Machine
from gradsense.machine.level import ModuleLevel
from gradsense.machine.limits import TIME, Limits
from gradsense.machine.modules import Workspace
from gradsense.machine.state import BranchKey, Knowledge
from gradsense.machine.units import Unit, runner, units_of
from gradsense.machine.values import Site, origin_of
from gradsense.syntax.parse import ParsedModule

# A fact that is learnt starts the path anew, at most so often.
LEARNING_ROUNDS = 3
# Branches that one path may have flipped at once.
MOST_FLIPS = 3
# Cells of a notebook that are tried a second time.
RERUN_CELLS = 12
# What is said of a whole program holds only if no path shows otherwise.
ON_ALL_PATHS = (RetainedWalk, LossNeverWalked, DeadTerm, NeverReached, GradientsDiscarded, ForwardUnused)


@dataclass
class Exploration:
    """What was found in one file.

    Attributes:
        events: what happened, each with whether it is certain.
        sites: every walk that was reached, by place, and whether its graph was fully known.
        doubts: why it was not, for those where it was not.
        called: the functions that were entered.
        paths: how many paths were run.
        left_out: what bounds on work left out, as `limits` words it.
        walks_by_itself: whether the module level walks a graph: the file is a whole program.
        failures: statements that the machine itself could not run.
    """

    events: list[Event] = field(default_factory=list)
    sites: dict[tuple[object, ...], bool] = field(default_factory=dict)
    doubts: dict[tuple[object, ...], str] = field(default_factory=dict)
    called: set[ast.AST] = field(default_factory=set)
    paths: int = 0
    left_out: set[str] = field(default_factory=set)
    walks_by_itself: bool = False
    failures: list[str] = field(default_factory=list)

    def take(self, machines: list[Machine]) -> None:
        """Adds the outcome of several paths of one unit."""
        self.events += merged(machines)
        for machine in machines:
            self.paths += 1
            self.called |= machine.called | machine.handed_over
            self.left_out |= machine.left_out
            self.failures += [f for f in machine.failures if f not in self.failures]
            for key, known in machine.sites.items():
                self.sites[key] = self.sites.get(key, False) or known
            self.doubts.update(machine.doubts)


def explore(
    program: ParsedModule,
    workspace: Workspace,
    limits: Limits | None = None,
    *,
    already_called: Iterable[ast.AST] = (),
    first_path_only: bool = False,
) -> Exploration:
    """Runs a file's module level and then each of its functions and methods that nothing reached.

    Args:
        program: the file.
        workspace: where its imports are found.
        limits: bounds on work.
        already_called: functions that another file's run entered: they are not run by themselves.
        first_path_only: one path of each unit, which is what a keystroke pays for.
    """
    limits = limits or Limits()
    deadline = time.monotonic() + limits.seconds
    knowledge = Knowledge()
    result = Exploration()
    paths = 1 if first_path_only else limits.paths
    level = ModuleLevel()
    machines = list(_paths(program, workspace, None, knowledge, limits, paths, deadline, level))
    result.take(machines)
    result.walks_by_itself = bool(machines and machines[0].walks)
    if machines and not first_path_only:
        for cell in machines[0].walking_cells[:RERUN_CELLS]:
            machine = Machine(program, workspace, {}, knowledge, limits, deadline)
            machine.rerun_cell(cell)
            result.events += [e for e in machine.events if e.rerun and e.raises]
    result.called |= set(already_called)
    units = units_of(program.tree)
    for number, unit in enumerate(units, 1):
        if unit.node in result.called:
            continue
        if time.monotonic() > deadline:
            result.left_out.add(TIME)
            break
        result.called.add(unit.node)
        share = min(deadline, time.monotonic() + max(limits.seconds / 4, 0.5))
        unit_paths = 1 if first_path_only else max(1, limits.paths // 3)
        level.again = unit_paths > 1 or any(
            later.cls is unit.cls and later.node not in result.called for later in units[number:]
        )
        result.take(list(_paths(program, workspace, unit, knowledge, limits, unit_paths, share, level)))
    return result


def _paths(
    program: ParsedModule,
    workspace: Workspace,
    unit: Unit | None,
    knowledge: Knowledge,
    limits: Limits,
    most: int,
    deadline: float,
    level: ModuleLevel,
) -> Iterator[Machine]:
    """Runs the first path, then paths with single branches flipped."""
    queue: list[dict[BranchKey, bool]] = [{}]
    seen: set[tuple[tuple[BranchKey, bool], ...]] = set()
    count = 0
    while queue and count < most:
        if count and time.monotonic() > deadline:
            break
        forced = queue.pop(0)
        known = len(knowledge.facts)
        machine = _run(program, workspace, unit, knowledge, limits, deadline, forced, level)
        for _ in range(LEARNING_ROUNDS - 1):
            if not machine.new_facts or time.monotonic() > deadline:
                break
            if any(not _is_within(unit, site) for site in list(knowledge.facts)[known:]):
                level.forget()
            machine = _run(program, workspace, unit, knowledge, limits, deadline, forced, level)
        count += 1
        for key, default in machine.branches.items():
            flipped = {**forced, key: not default}
            name = tuple(sorted(flipped.items()))
            if len(flipped) <= MOST_FLIPS and name not in seen and key not in forced:
                seen.add(name)
                queue.append(flipped)
        yield machine


def _run(
    program: ParsedModule,
    workspace: Workspace,
    unit: Unit | None,
    knowledge: Knowledge,
    limits: Limits,
    deadline: float,
    forced: dict[BranchKey, bool],
    level: ModuleLevel,
) -> Machine:
    machine = Machine(program, workspace, forced, knowledge, limits, deadline)
    if unit is None or not level.put_into(machine):
        machine.run_program()
        if not forced:
            level.keep(machine)
    if unit is not None:
        machine.forget_module_level()
        run: Callable[[], None] | None = runner(machine, unit, level)
        if run is not None:
            machine.run_unit(run)
    machine.conclude()
    if unit is not None:
        level.finish(machine, unit.cls)
    return machine


def _is_within(unit: Unit | None, site: Site) -> bool:
    """Whether a call was made by the unit and not at the module level."""
    _, stack = origin_of(site)
    if unit is None or not stack:
        return False
    return any(n is not None and stack[0][1:] == (n.lineno, n.col_offset) for n in (unit.node, unit.cls))


def merged(machines: list[Machine]) -> list[Event]:
    """The events of several paths, each once, with what all paths together say of it.

    An error is certain only if every path that comes to its line meets it, or ends in an error of its own before.
    """
    by_key: dict[tuple[object, ...], tuple[Event, set[int]]] = {}
    for index, machine in enumerate(machines):
        for event in machine.events:
            key = event.key
            known = by_key.get(key)
            if known is None:
                by_key[key] = (event, {index})
                continue
            known[1].add(index)
            best = known[0]
            if (event.sure and not best.sure) or (event.sure == best.sure and len(event.also) > len(best.also)):
                by_key[key] = (event, known[1])
    raised = {i for i, m in enumerate(machines) if any(e.raises and not e.caught for e in m.events)}
    raising = {e.culprit.key for e, _ in by_key.values() if e.raises}
    walked_places = {w.place.key for m in machines for w in m.walks if w.used_leaves}
    kept: list[Event] = []
    for event, where in by_key.values():
        spot = (event.place.path, event.place.line)
        others = [i for i, m in enumerate(machines) if spot in m.reached or i in where]
        everywhere = all(i in where or i in raised for i in others)
        if event.raises:
            event.certain = event.sure and everywhere
            if isinstance(event, NoGraph) and not everywhere:
                # A branch that never builds a graph is the program's own business.
                continue
        if isinstance(event, GradientsDiscarded) and not event.idle and event.walk.place.key not in walked_places:
            continue
        if (
            isinstance(event, ON_ALL_PATHS)
            and not everywhere
            and not (isinstance(event, RetainedWalk) and event.needed)
        ):
            continue
        if isinstance(event, ForwardUnused) and not any(machine.walks for machine in machines):
            # A program that only predicts may be in no need of `no_grad`.
            continue
        if isinstance(event, AnomalyOn) and len(where) < len(machines):
            # A flag of the program switches it on.
            continue
        if isinstance(event, InplaceAllowed) and event.culprit.key in raising:
            continue
        kept.append(event)
    return kept
