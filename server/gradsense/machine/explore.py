"""Running a program: its module level, and each function by itself that nothing reaches from there."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from gradsense.machine.alike import Alike
from gradsense.machine.behind import go_behind
from gradsense.machine.events import Event
from gradsense.machine.interpreter import Machine
from gradsense.machine.level import ModuleLevel
from gradsense.machine.limits import TIME, Interrupted, Limits
from gradsense.machine.modules import Workspace
from gradsense.machine.outcomes import Exploration, Facts, Outcome
from gradsense.machine.paths import Paths
from gradsense.machine.state import Knowledge
from gradsense.machine.trees import declares_globals, definitions_in, forget, forget_level, is_main_guard
from gradsense.machine.units import Unit, assigns_anew, units_of
from gradsense.machine.values import origin_of
from gradsense.syntax.parse import ParsedModule

# Cells of a notebook that are tried a second time.
RERUN_CELLS = 12


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
    explorer = Explorer(program, workspace, limits, already_called)
    explorer.run(first_path_only=first_path_only)
    return explorer.found()


class Explorer:
    """Runs one program, and runs again what a change of it can have changed.

    Args:
        program: the file; its tree may change in place, see `changed`.
        workspace: where its imports are found.
        limits: bounds on work.
        already_called: functions that another file's run entered: they are not run by themselves.

    Attributes:
        is_seen: whether everything was run along one path at least since the program changed.
        is_settled: whether everything was run along all paths.
        is_cautious: what another path may take back is not told before that was run.
        frozen: functions that cannot be read at the moment: what was found with them stays as it is.
        frozen_level: whether the same goes for what is outside of functions.
    """

    def __init__(
        self,
        program: ParsedModule,
        workspace: Workspace,
        limits: Limits | None = None,
        already_called: Iterable[ast.AST] = (),
    ) -> None:
        self.program = program
        self.workspace = workspace
        self.limits = limits or Limits()
        self.is_seen = self.is_settled = False
        self.is_cautious = False
        self.frozen: set[ast.AST] = set()
        self.frozen_level = False
        self._already_called = set(already_called)
        self._level = self._compared = ModuleLevel()
        # Whether a function sets a variable of the module.
        self._sets_globals = False
        # None is the module level.
        self._outcomes: dict[ast.AST | None, Outcome] = {}
        self._shown: list[ast.AST | None] = []
        self._left_out: set[str] = set()
        self._known_units: list[Unit] | None = None
        self._was_seen = False
        self._places: set[tuple[int, int]] = set()
        # What a second run of a cell came to, by its position, and what was known then.
        self._reruns: dict[int, tuple[Facts, list[Event]]] = {}

    # ------------------------------------------------------------------ changes

    def changed(self, functions: Collection[ast.AST], outside: bool) -> None:
        """Takes note of what the program's tree says anew.

        Args:
            functions: those whose bodies changed; they are the same objects as before.
            outside: whether anything else did.
        """
        self.is_seen = self.is_settled = False
        self._known_units = None
        self._level.drop_made()
        forget(functions)
        forget_level(self.program.tree)
        methods_too = assigns_anew(self.program.tree, functions)
        # What is defined in them may be called by others.
        functions = {part for function in functions for part in definitions_in(function)}
        if declares_globals(self.program) is not self._sets_globals:
            # Then units start elsewhere.
            self.all_changed()
            return
        level = self._outcomes.get(None)
        if level is not None and (outside or level.found.enters(functions)):
            level.stale = True
            for node, outcome in self._outcomes.items():
                outcome.suspect = outcome.suspect or node is not None
        for unit in self._all_units() if methods_too else ():
            # A method is run on an object of which other methods decide what is certain.
            if unit.cls is not None and unit.node in self._outcomes:
                self._outcomes[unit.node].stale = True
        for node, outcome in self._outcomes.items():
            if node in functions or outcome.found.enters(functions):
                outcome.stale = True

    def cells_changed(self, first: int) -> None:
        """Takes note that cells of a notebook changed, from one position on; `changed` is told as well."""
        self._reruns = {position: kept for position, kept in self._reruns.items() if position < first}

    def all_changed(self) -> None:
        """Takes note that everything may be different."""
        self.is_seen = self.is_settled = False
        for outcome in self._outcomes.values():
            outcome.stale = True
            outcome.suspect = False

    def file_changed(self, path: str) -> None:
        """Takes note that a file of the workspace changed, named by its real path."""
        if any(path in outcome.found.files for outcome in self._outcomes.values()):
            self._reruns.clear()
            self.all_changed()

    def moved(self, line: Callable[[int], int]) -> None:
        """Takes note that lines moved."""
        self._level.drop_made()
        for outcome in self._outcomes.values():
            outcome.move(self.program.source.path, line)

    # ------------------------------------------------------------------ running

    @property
    def has_begun(self) -> bool:
        """Whether anything was run yet."""
        return bool(self._outcomes)

    @property
    def cost(self) -> float:
        """About how many seconds it takes to run one path of everything that is not up to date."""
        stale = [outcome for outcome in self._outcomes.values() if outcome.is_doubtful and not self._is_frozen(outcome)]
        return sum(outcome.seconds for outcome in stale)

    def run(self, *, first_path_only: bool = False) -> None:
        """Runs everything that is not up to date.

        Args:
            first_path_only: one path of each unit.

        Raises:
            Interrupted: as the limits have it; what was finished before is not lost.
        """
        deadline = time.thread_time() + self.limits.seconds
        self._left_out = set()
        self._level.touched()
        most = 1 if first_path_only else self.limits.paths
        shown: list[ast.AST | None] = []
        start, alike = _Start(), Alike(self.program.tree, self._all_units())
        for unit, more in self._units():
            node = unit.node if unit is not None else None
            if alike.has(unit):
                self._outcomes[node] = Outcome.of_nothing(start.clean)
                shown.append(node)
                continue
            known = self._outcomes.get(node)
            if known is None or not self._serves(known, unit, start, not first_path_only):
                if unit is not None and time.thread_time() > deadline:
                    self._left_out.add(TIME)
                    break
                share = max(self.limits.seconds / 4, 0.5)
                until = deadline if unit is None else min(deadline, time.thread_time() + share)
                paths = most if unit is None or most == 1 else max(1, most // 3)
                self._level.again = paths > 1 or more
                self._run_unit(unit, start, paths, until, whole=not first_path_only)
            shown.append(node)
            start.goes_on(self._outcomes[node])
            alike.add(unit, self._outcomes[node])
        else:
            self.is_seen = self._was_seen = True
            self.is_settled = self.is_settled or not first_path_only
            if not (self.frozen or self.frozen_level):
                for gone in self._outcomes.keys() - set(shown):
                    del self._outcomes[gone]
        self._shown = shown + [node for node in self._outcomes if node not in shown]

    def glance(self, functions: Collection[ast.AST], seconds: float) -> None:
        """Runs one path of what was just edited, if that takes no longer than some time.

        Args:
            functions: those that were edited.
            seconds: how long it may take, by what it took the last time.

        Raises:
            Interrupted: as the limits have it.
        """
        until = time.thread_time() + seconds
        self._level.touched()
        wanted = self._nearest(functions)
        shown: list[ast.AST | None] = []
        start = _Start()
        for unit, _ in self._units():
            node = unit.node if unit is not None else None
            known = self._outcomes.get(node)
            new = known is None and (self._was_seen or unit is None)
            if new or (known is not None and known.is_doubtful and node in wanted and not self._is_frozen(known)):
                if time.thread_time() + self._seconds_for(known) < until:
                    self._run_unit(unit, start, 1, time.thread_time() + self.limits.seconds, whole=False)
                elif unit is None:
                    # Without it nothing else can be known.
                    return
            if node in self._outcomes:
                shown.append(node)
                start.goes_on(self._outcomes[node])
        self._shown = shown + [node for node in self._outcomes if node not in shown]

    def _seconds_for(self, known: Outcome | None) -> float:
        """About how long one path of a unit takes."""
        if known is not None:
            return known.seconds
        level = self._outcomes.get(None)
        return 0.0 if level is None or self._level.ready() else level.seconds

    def _nearest(self, functions: Collection[ast.AST]) -> set[ast.AST | None]:
        """The units that functions are looked at in: they themselves, or what gets to them the fastest."""
        wanted: set[ast.AST | None] = {None}
        for function in functions:
            entering = [n for n, outcome in self._outcomes.items() if function in outcome.found.called]
            if function in self._outcomes:
                wanted.add(function)
            elif entering:
                wanted.add(min(entering, key=lambda node: self._outcomes[node].seconds))
        return wanted

    def _all_units(self) -> list[Unit]:
        if self._known_units is None:
            self._known_units = units_of(self.program.tree)
        return self._known_units

    def _units(self) -> Iterator[tuple[Unit | None, bool]]:
        """The module level and then all units that nothing before them reached; whether more of the class follow."""
        units = self._all_units()
        self._places = {(n.lineno, n.col_offset) for u in units for n in (u.node, u.cls) if n is not None}
        yield None, False
        called = set(self._already_called)
        if None in self._outcomes:
            called |= self._outcomes[None].found.called
        of_class: dict[ast.ClassDef | None, list[Unit]] = {}
        for unit in units:
            of_class.setdefault(unit.cls, []).append(unit)
        for unit in units:
            if unit.node in called:
                continue
            called.add(unit.node)
            yield unit, unit.cls is not None and any(other.node not in called for other in of_class[unit.cls])
            if unit.node in self._outcomes:
                called |= self._outcomes[unit.node].found.called

    def _run_unit(self, unit: Unit | None, start: _Start, most: int, until: float, *, whole: bool) -> None:
        """Runs a unit anew; what was known of it stays where that is interrupted.

        Args:
            unit: None for the module level.
            start: where it begins, after the units before it.
            most: so many paths at most.
            until: the processor time at which it has to be over.
            whole: whether all its paths are wanted, and the second runs of a notebook's cells.

        Raises:
            Interrupted: as the limits have it.
        """
        before = self._level
        try:
            self._run_paths(unit, start, most, until, whole=whole)
        except Interrupted:
            # What was found before stays, and so does what units start from.
            self._level = before
            raise

    def _run_paths(self, unit: Unit | None, start: _Start, most: int, until: float, *, whole: bool) -> None:
        """Runs the paths of a unit and keeps what they came to; for a new module level, also what units start from."""
        node = unit.node if unit is not None else None
        knowledge = Knowledge(dict(start.facts))
        if unit is None:
            self._level = ModuleLevel()
        paths = Paths(self.program, self.workspace, self.limits, knowledge, self._level, alone=not whole)
        if unit is not None:
            self._prepare_level(paths, start, until)
        began = time.thread_time()
        machines: list[Machine] = []
        seconds = 0.0
        for machine in paths.run(unit, most, until):
            machines.append(machine)
            seconds = seconds or time.thread_time() - began
        found, first = Exploration.of(machines), machines[0]
        keys = {event.key for event in first.events}
        on_first = frozenset(id(event) for event in found.events if event.key in keys)
        if whole and first.ended_by is not None and time.thread_time() < until:
            machines.append(go_behind(paths, unit, found, until))
        if unit is None:
            self._give_up_level(paths, first, until)
            found.walks_by_itself = bool(first.walks)
            if whole:
                for cell in first.walking_cells[:RERUN_CELLS]:
                    found.events += self._rerun(cell, paths, until)
        learnt = {site: fact for site, fact in knowledge.facts.items() if site not in start.facts}
        outcome = Outcome(
            found,
            whole or not (first.ended_by or first.offered() or (unit is None and first.walking_cells)),
            on_first,
            given=self._foreign(unit, start.facts),
            learnt=learnt,
            from_clean=start.clean,
            leaves_clean=self._level.ready(),
            seconds=seconds,
            reads=frozenset().union(*[machine.names_read for machine in machines]),
        )
        if self.is_cautious and not outcome.whole:
            outcome.go_on_from(self._outcomes.get(node))
        self._outcomes[node] = outcome
        if unit is None:
            self._sets_globals = declares_globals(self.program)
            self._judge_suspects()

    def _judge_suspects(self) -> None:
        """The module level was run again: what depends on something that it leaves otherwise is out of date."""
        suspects = [outcome for outcome in self._outcomes.values() if outcome.suspect]
        if suspects:
            names = self._level.changed_since(self._compared)
            for outcome in suspects:
                outcome.suspect = False
                if names is None or not outcome.from_clean or not names.isdisjoint(outcome.reads):
                    outcome.stale = True
        self._compared = self._level

    def _rerun(self, cell: int, paths: Paths, until: float) -> list[Event]:
        """What raises when a cell is run a second time; that depends on no cell behind it."""
        facts = dict(paths.knowledge.facts)
        kept = self._reruns.get(cell)
        if kept is None or kept[0] != facts:
            again = paths.machine({}, until)
            again.rerun_cell(cell)
            kept = (facts, [e for e in again.events if e.rerun and e.raises])
            if not again.left_out:
                self._reruns[cell] = kept
        return kept[1]

    def _give_up_level(self, paths: Paths, first: Machine, until: float) -> None:
        """Chooses where units start whose module level does what cannot be undone, and has to be run before each.

        Where the program trains when it is started as a script, that is what an import of it leaves. Where it trains at
        its module level, it is what there would be without that, and without other long work.
        """
        if not self._level.is_hopeless or declares_globals(self.program):
            return
        body = self.program.tree.body
        if any(map(is_main_guard, body)):
            self._level = paths.level = ModuleLevel(is_main_guard)
            self._run_level(paths, until)
            return
        # What an imported file walks by itself is on no line of this one.
        begun = [(*walk.place.stack, walk.place)[0] for walk in first.walks]
        lines = [place.line for place in begun if place.source is self.program.source]
        walking = {s for s in body if any(s.lineno <= line <= (s.end_lineno or s.lineno) for line in lines)}
        if walking:
            walking |= {s for s, steps in first.level_steps.items() if steps > LONG_WORK and isinstance(s, WORK)}
            self._level = paths.level = ModuleLevel(walking.__contains__)

    def _prepare_level(self, paths: Paths, start: _Start, until: float) -> None:
        """Has the module level as it is when all units before this one were run, too."""
        if not start.clean:
            self._level.forget()
        elif not self._level.ready():
            self._run_level(paths, until)

    def _run_level(self, paths: Paths, until: float) -> None:
        machine = paths.machine({}, until)
        machine.run_program(leaves_out=self._level.leaves_out)
        self._level.keep(machine)

    # ------------------------------------------------------------------ what serves on

    def _foreign(self, unit: Unit | None, facts: Facts) -> Facts:
        """Those facts that a unit may meet: not those about calls that other units make."""
        if unit is None or not facts:
            return {}
        own = {(n.lineno, n.col_offset) for n in (unit.node, unit.cls) if n is not None}
        found: Facts = {}
        for site, fact in facts.items():
            _, stack = origin_of(site)
            root = stack[0][1:] if stack and stack[0][0] == self.program.source.path else None
            if root is None or root in own or root not in self._places:
                found[site] = fact
        return found

    def _serves(self, outcome: Outcome, unit: Unit | None, start: _Start, whole: bool) -> bool:
        """Whether a run would come to the same."""
        if self._is_frozen(outcome):
            return True
        # Where the module level cannot be run at the moment, what it left before still stands.
        if outcome.stale or (outcome.suspect and not self.frozen_level) or (whole and not outcome.whole):
            return False
        return unit is None or (outcome.from_clean == start.clean and outcome.given == self._foreign(unit, start.facts))

    def _is_frozen(self, outcome: Outcome) -> bool:
        if outcome is self._outcomes.get(None) and self.frozen_level:
            return True
        return bool(self.frozen) and outcome.found.enters(self.frozen)

    # ------------------------------------------------------------------ outcome

    def out_of_date(self) -> list[Event]:
        """Those events that may not be there any more."""
        return [event for node in self._shown if (o := self._outcomes[node]).is_doubtful for event in o.found.events]

    def found(self) -> Exploration:
        """What is known to be found in the program."""
        total = Exploration(left_out=set(self._left_out))
        for node in self._shown:
            outcome = self._outcomes[node]
            total.add(outcome.found)
            if node is None:
                total.walks_by_itself = outcome.found.walks_by_itself
            else:
                total.called.add(node)
        return total


# Statements of a module level that are there for what they do, and as many steps as is much for one of them.
WORK = (ast.For, ast.While, ast.With, ast.Expr)
LONG_WORK = 300


@dataclass
class _Start:
    """Where a unit begins, after those before it.

    Attributes:
        facts: what is known of unknown values.
        clean: whether the module level is ready to start from.
    """

    facts: Facts = field(default_factory=dict)
    clean: bool = True

    def goes_on(self, outcome: Outcome) -> None:
        """Takes what a unit leaves to the next."""
        self.facts = {**self.facts, **outcome.learnt} if outcome.learnt else self.facts
        self.clean = outcome.leaves_clean
