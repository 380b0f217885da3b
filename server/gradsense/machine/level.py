"""A program's module level after it was run: where every run of a function by itself starts."""

from __future__ import annotations

from gradsense.machine.heap import Heap
from gradsense.machine.interpreter import Machine, MachineState


class ModuleLevel:
    """What the first run of the module level left behind.

    It serves as long as it is static and what the functions did to it can be undone; where not, the module level is run
    again before each.
    """

    def __init__(self) -> None:
        self._state: MachineState | None = None
        self._heap = Heap(())
        self._untouched: list[Heap] = []
        self._hopeless = False

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
        self._state, self._heap, self._untouched = (machine.state(), heap, [part.heap for part in untouched])

    def forget(self) -> None:
        """Something was learnt: the module level has to be run again."""
        self._state = None

    def put_into(self, machine: Machine) -> bool:
        """Gives a machine the state after the module level; False if it has to run that itself."""
        if self._state is None:
            return False
        if not (self._heap.restore() and all(heap.restore() for heap in self._untouched)):
            self._state = None
            return False
        machine.start_from(self._state)
        return True
