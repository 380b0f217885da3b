"""The machine: runs a program of one or several files on an abstract torch."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradsense.machine import conclude
from gradsense.machine.books import PathEnds
from gradsense.machine.events import Event
from gradsense.machine.frames import Frame
from gradsense.machine.imports import LIBRARIES, Imports
from gradsense.machine.limits import STACK, OutOfBudget
from gradsense.machine.shelf import Kept
from gradsense.machine.state import CONTROL
from gradsense.machine.trees import names_set
from gradsense.machine.tri import Tri
from gradsense.machine.values import ProgramModule, Unknown

# Seconds that a path which took too long may still draw its conclusions.
CONCLUDING = 0.5


@dataclass(frozen=True)
class MachineState:
    """Where a machine is after the module level, apart from what the variables hold."""

    frame: Frame
    loaded: dict[str, ProgramModule]
    taken: dict[Kept, None]
    order: int
    loop_count: int
    mode: tuple[Tri, bool, bool]


class Machine(Imports):
    """Runs one path through a program."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ended_early = False
        # The error that ended it.
        self.ended_by: Event | None = None
        self.walking_cells: list[int] = []
        # How many steps each statement of the module level took.
        self.level_steps: dict[ast.stmt, int] = {}

    def run_program(self, *, leaves_out: Callable[[ast.stmt], bool] | None = None) -> None:
        """Runs the module level of the program.

        Args:
            leaves_out: the statements that are left out; what they would have set is not known.
        """
        body = self.program.tree.body
        if leaves_out is None:
            self._guarded(lambda: self._run_cells(None) if self.program.source.cells else self._run_level(body))
        else:
            self._guarded(lambda: self._run_all_but(body, leaves_out))

    def _run_level(self, body: list[ast.stmt]) -> None:
        """Runs statements of the module level, and notes how much work each was."""
        for statement in body:
            before = self.steps_taken
            self.run_statement(statement)
            self.level_steps[statement] = self.steps_taken - before

    def _run_all_but(self, body: list[ast.stmt], leaves_out: Callable[[ast.stmt], bool]) -> None:
        for statement in body:
            if not leaves_out(statement):
                self.run_block([statement])
                continue
            for name in names_set(statement):
                self.file_frame.variables[name] = Unknown(name=name)

    def rerun_cell(self, index: int) -> None:
        """Runs the cells up to one of them, and that one again."""
        self._guarded(lambda: self._run_cells(index))

    def _run_cells(self, again: int | None) -> None:
        """Runs a notebook's cells in order; each run of a cell is a pass of its own."""
        statements = list(self.program.tree.body)
        for position, cell in enumerate(self.program.source.cells):
            end = cell.first_line + cell.line_count
            inside = [s for s in statements if cell.first_line <= s.lineno < end]
            for number in range(2 if position == again else 1):
                self.rerunning = number > 0
                if number:
                    self.events = []
                self.epoch = ((-1 - position, number),)
                before = len(self.walks)
                self._run_level(inside)
                if len(self.walks) > before and again is None:
                    self.walking_cells.append(position)
            if position == again:
                return
        self.epoch = ()

    def _guarded(self, run: Callable[[], None]) -> None:
        """Runs one path to its end, whatever ends it."""
        try:
            run()
        except PathEnds as end:
            self.ended_early = True
            self.ended_by = end.event
        except OutOfBudget:
            self.ended_early = True
        except RecursionError:
            self.left_out.add(STACK)
            self.ended_early = True
        except CONTROL:
            pass

    def run_unit(self, run: Callable[[], None]) -> None:
        """Runs one function that the module level does not reach, in a state as if it had just been called."""
        self.stack = ()
        self.epoch = ()
        self.is_unit = True
        self.ended_early = False
        self.ended_by = None
        self._guarded(run)

    def conclude(self) -> None:
        """Reports what can only be said when the path is over."""
        self.renew_budget()
        self.deadline = max(self.deadline, time.thread_time() + CONCLUDING)
        try:
            conclude.conclude(self)
        except OutOfBudget:
            pass
        except Exception as error:
            self.failures.append(f"{self.program.source.path}:1: {type(error).__name__}: {error} (concluding)")

    # ------------------------------------------------------------------ units

    def forget_module_level(self) -> None:
        """Drops what the module level did, before a unit is run: that was reported on its own."""
        self.events = []
        self.growths = []
        self.retained = []
        self.zeroed = {}
        self.dead_terms = []
        self.constant_gradients = []
        self.leftovers = []
        self.clips = {}
        self.losses = []
        self.cut_nodes = []
        self.hidden = {}
        self.step_epochs = set()
        self.grad_walks = {}
        self.escaped = []
        self.forwards = []
        self.walks = []
        self.steps = []
        self.replaced = []
        self.thawed = []
        self.loose = []
        self.late = []
        self.groups = []
        self.raised = []
        self.watched = set()
        self.hooked = set()
        self.called_back = {}
        self.failures = []
        self.sites = {}
        self.doubts = {}
        self.ended_early = False

    def state(self) -> MachineState:
        """Where it is after the module level, apart from what the variables hold."""
        mode = (self.grad_mode, self.inference, self.autocast)
        return MachineState(self.file_frame, dict(self.loaded), dict(self.taken), self.order, self.loop_count, mode)

    def start_from(self, state: MachineState) -> None:
        """Goes on from where another machine was after the module level."""
        self.file_frame = self.frame = state.frame
        self.frames = [state.frame]
        self.loaded, self.taken = dict(state.loaded), dict(state.taken)
        self.order, self.loop_count = state.order, state.loop_count
        self.grad_mode, self.inference, self.autocast = state.mode


__all__ = ["LIBRARIES", "Machine", "MachineState"]
