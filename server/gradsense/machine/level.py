"""A program's module level after it was run, and objects after they were made: where runs of single functions start."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from gradsense.machine.events import InplaceAllowed
from gradsense.machine.frames import Frame
from gradsense.machine.heap import Heap
from gradsense.machine.interpreter import Machine, MachineState
from gradsense.machine.likeness import Likeness, body_of
from gradsense.machine.limits import SIZE
from gradsense.machine.objects import Objects
from gradsense.machine.shelf import Traces, marks, traces_of
from gradsense.machine.values import ClassValue, DictValue, Instance, ListValue, Optimizer


@dataclass(frozen=True)
class Made:
    """An object as its constructor left it, and what else the constructor did, in short as well."""

    value: Instance
    state: MachineState
    optimizers: tuple[Optimizer, ...]
    objects: Objects
    traces: Traces
    reads: frozenset[str]
    done: int


class ModuleLevel:
    """What the first run of the module level left behind.

    It serves as long as it is static and what the functions did to it can be undone; where not, the module level is run
    again before each.

    Args:
        leaves_out: statements of the module level that are not run.

    Attributes:
        again: whether the object that is made next may be wanted once more.
    """

    def __init__(self, leaves_out: Callable[[ast.stmt], bool] | None = None) -> None:
        self.leaves_out = leaves_out
        self.again = True
        self._state: MachineState | None = None
        self._heap = Heap(())
        self._untouched: list[Heap] = []
        self._hopeless = False
        self._elsewhere: set[int] = set()
        self._made: dict[ast.ClassDef, Made] = {}
        self._restored = False
        self._bodies: dict[ClassValue, tuple[ast.stmt, ...]] = {}
        # Whether it changed what is in other files, too.
        self._reaches_out = False

    def keep(self, machine: Machine) -> None:
        """Takes the state of a machine that has run the module level and nothing else."""
        if self._hopeless or self._state is not None:
            return
        changed = [part for part in machine.taken if part.heap.changed()]
        untouched = [part for part in machine.taken if part not in changed]
        elsewhere = {i for part in untouched for i in part.heap.ids}
        others = {path for part in untouched for path in part.modules}
        frames = [module.frame for path, module in machine.loaded.items() if path not in others]
        heap = Heap(frames, elsewhere)
        if machine.events or machine.optimizers or not heap.static:
            self._hopeless = True
            return
        self._state, self._heap, self._untouched = machine.state(), heap, [part.heap for part in untouched]
        self._bodies = {cls: body_of(cls.node) for cls in heap.classes}
        self._reaches_out = bool(changed)
        self._elsewhere = elsewhere | heap.ids

    @property
    def is_hopeless(self) -> bool:
        """Whether it does things that cannot be undone, so that it has to be run again before each unit."""
        return self._hopeless

    def forget(self) -> None:
        """Something was learnt: the module level has to be run again."""
        self._state = None
        self._restored = False
        self._made.clear()

    def touched(self) -> None:
        """Something else was run meanwhile, which may have used the same files."""
        self._restored = False

    def drop_made(self) -> None:
        """Forgets the objects that were made: places that their constructors left on record have moved."""
        self._made.clear()

    def ready(self) -> bool:
        """Makes everything as it was after the module level; False if that has to be run again."""
        if self._state is None:
            return False
        if not self._restored:
            self._restored = self._heap.restore() and all(heap.restore() for heap in self._untouched)
            if not self._restored:
                self.forget()
        return self._restored

    def put_into(self, machine: Machine) -> bool:
        """Gives a machine the state after the module level; False if it has to run that itself."""
        if not self.ready():
            return False
        assert self._state is not None
        self._restored = False
        machine.start_from(self._state)
        return True

    def changed_since(self, earlier: ModuleLevel) -> set[str] | None:
        """The names that do not mean what they meant after an earlier run; None where that cannot be told."""
        if self._reaches_out or earlier._reaches_out or not (earlier.ready() and self.ready()):
            return None
        before, now = earlier._state, self._state
        if before is None or now is None or before.mode != now.mode or _own(before) != _own(now):
            return None
        likeness = Likeness(earlier._bodies, self._bodies)
        names: set[str] = set()
        try:
            for path in now.loaded.keys() & before.loaded.keys():
                ours, theirs = now.loaded[path].frame, before.loaded[path].frame
                if ours is theirs:
                    continue
                if ours.lookup is not None or theirs.lookup is not None:
                    return None
                names |= likeness.changed(theirs, ours)
        except RecursionError:
            return None
        return None if _has_other_names(names, before.frame) or _has_other_names(names, now.frame) else names

    # ------------------------------------------------------------------ objects

    def made(self, machine: Machine, node: ast.ClassDef, make: Callable[[], Instance | None]) -> Instance | None:
        """An object of a class of the file, fresh from its constructor.

        Args:
            machine: where the method is going to be run; it has done nothing since the module level.
            node: the class.
            make: runs the constructor.
        """
        known = self._made.get(node)
        if known is not None and not any(key in known.traces.branches for key in machine.forced):
            known.objects.restore()
            machine.start_from(known.state)
            machine.optimizers = list(known.optimizers)
            known.traces.leave_on(machine)
            machine.names_read |= known.reads
            machine.trail.fold(machine.trail.code, known.done)
            return known.value
        before, code = marks(machine), machine.trail.code
        value = make()
        if value is None or not self.again or self._state is None or machine.forced:
            return value
        traces = traces_of(machine)
        alike = marks(machine) == before and self._takes_along(machine) and traces.left_out <= {SIZE}
        if not alike or self._heap.changed():
            return value
        objects = Objects((value, machine.optimizers), self._elsewhere)
        if objects.whole:
            done, kept = machine.trail.code, traces.copy()
            kept.branches, reads = machine.offered(), frozenset(machine.names_read)
            self._made[node] = Made(value, machine.state(), tuple(machine.optimizers), objects, kept, reads, done)
            machine.trail.fold(code, done)
        return value

    def _takes_along(self, machine: Machine) -> bool:
        """Has later runs start with the files that were loaded in this one; whether all of them can be put back."""
        state = self._state
        if state is None:
            return False
        new = [part for part in machine.taken if part not in state.taken]
        paths = {path for part in new for path in part.modules}
        if not machine.loaded.keys() - state.loaded.keys() <= paths or any(part.heap.changed() for part in new):
            return False
        if new:
            self._state = replace(state, loaded=dict(machine.loaded), taken=dict(machine.taken))
            self._untouched += [part.heap for part in new]
            self._elsewhere.update(*(part.heap.ids for part in new))
        return True

    def finish(self, machine: Machine, node: ast.ClassDef | None) -> None:
        """A function was run: where something was found, that may refer to the object as a method left it."""
        self._takes_along(machine)
        if machine.new_facts:
            self._made.clear()
        elif node is not None and not all(isinstance(event, InplaceAllowed) for event in machine.events):
            self._made.pop(node, None)


def _has_other_names(names: set[str], frame: Frame) -> bool:
    """Whether what can be changed in place is known by one of these names and by another as well."""
    others = {id(value) for name, value in frame.variables.items() if name not in names}
    return any(
        isinstance(value, (ListValue, DictValue, Instance)) and id(value) in others
        for name, value in frame.variables.items()
        if name in names
    )


def _own(state: MachineState) -> set[str]:
    """The files that were run for this machine, and not taken as they were left."""
    return state.loaded.keys() - {path for part in state.taken for path in part.modules}
