"""The machine: runs a program of one or several files on an abstract torch."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradsense.machine import conclude
from gradsense.machine.books import PathEnds
from gradsense.machine.frames import Frame
from gradsense.machine.limits import IMPORTS, STACK, OutOfBudget
from gradsense.machine.shelf import Kept, Loading
from gradsense.machine.state import CONTROL
from gradsense.machine.statements import Statements
from gradsense.machine.trees import names_set
from gradsense.machine.tri import Tri
from gradsense.machine.values import External, ListValue, ProgramModule, Unknown, Value
from gradsense.syntax.parse import ParsedModule

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


class Machine(Statements):
    """Runs one path through a program."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ended_early = False
        self.walking_cells: list[int] = []
        # The file that is checked, and the files that were run, by their real paths.
        self.main = self.workspace.real(self.program.source.path)
        self.loaded = {self.main: ProgramModule("__main__", self.file_frame)}
        # Files that are being run, outermost first, and those that were taken as an earlier machine left them.
        self.loading: list[Loading] = []
        # How many steps each statement of the module level took.
        self.level_steps: dict[ast.stmt, int] = {}
        self.taken: dict[Kept, None] = {}

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
        except PathEnds:
            self.ended_early = True
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

    # ------------------------------------------------------------------ imports

    def load(self, path: str) -> ProgramModule | None:
        """The module of a file of the workspace, run once."""
        real = self.workspace.real(path)
        shelf = self.workspace.shelf
        known = self.loaded.get(real) or shelf.take(self, real)
        if known is not None:
            shelf.came_back(self, real)
            return known
        if os.path.isdir(real):
            frame = Frame(self.program.source)
            module = self.loaded[real] = ProgramModule(os.path.basename(real), frame)
            frame.variables["__path__"] = real
            return module
        if len(self.loaded) > self.limits.imports:
            self.left_out.add(IMPORTS)
            return None
        parsed = self.workspace.parsed(path)
        if parsed is None:
            return None
        frame = Frame(parsed.source)
        module = self.loaded[real] = ProgramModule(os.path.splitext(os.path.basename(real))[0], frame)
        frame.variables["__name__"] = module.name
        frame.variables["__path__"] = os.path.dirname(real) if os.path.basename(real) == "__init__.py" else None
        shelf.begin(self, real)
        finished = False
        try:
            finished = self._run_module(parsed, frame)
        finally:
            shelf.end(self, real, finished)
        return module

    def _run_module(self, parsed: ParsedModule, frame: Frame) -> bool:
        """Runs a file's module level, which belongs to no call and no pass; whether it came to its end."""
        previous = (self.source, self.stack, self.node, self.forward_depth, self.catching)
        grad_mode, epoch = self.grad_mode, self.epoch
        self.source = parsed.source
        self.forward_depth = 0
        self.stack = self.epoch = ()
        try:
            with self.entered(frame):
                self.run_block(parsed.tree.body)
        except CONTROL as signal:
            if isinstance(signal, OutOfBudget):
                raise
            return False
        finally:
            self.source, self.stack, self.node, self.forward_depth, self.catching = previous
            self.grad_mode, self.epoch = grad_mode, epoch
        return True

    def workspace_attribute(self, module: ProgramModule, name: str) -> Value:
        folder = module.frame.variables.get("__path__")
        if isinstance(folder, str):
            path = self.workspace.find(name, 1, os.path.join(folder, "__init__.py"))
            if path is not None and (loaded := self.load(path)) is not None:
                return loaded
        return Unknown(name=name)

    def _file_of(self, module: str, level: int) -> str | None:
        """The file or folder that an import means: in the workspace, else where its package is known to be."""
        path = self.workspace.find(module, level, self.source.path)
        return self.workspace.outside.file(module) if path is None and not level else path

    def import_module(self, name: str, level: int, *, whole: bool) -> Value:
        first = name.partition(".")[0]
        if first in LIBRARIES:
            return External(name if whole else first)
        path = self._file_of(name, level)
        if path is not None:
            loaded = self.load(path)
            if loaded is not None:
                if whole or "." not in name:
                    return loaded
                top = self._file_of(first, level)
                return (self.load(top) if top is not None else None) or loaded
        return External(name if whole else first)

    def import_name(self, module: str, level: int, name: str) -> Value:
        if not level and module.partition(".")[0] in LIBRARIES:
            return External(f"{module}.{name}")
        path = self._file_of(module, level)
        if path is not None:
            loaded = self.load(path)
            if loaded is not None:
                value = self.get_attribute(loaded, name)
                if not isinstance(value, Unknown):
                    return value
                return value if name in loaded.frame.variables else Unknown(name=name)
        dotted = f"{'.' * level}{module}.{name}"
        return External(dotted) if not level else Unknown(name=name)

    def import_all(self, module: str, level: int) -> None:
        if not level and module.partition(".")[0] in LIBRARIES:
            self._star_of_library(module)
            return
        path = self._file_of(module, level)
        loaded = self.load(path) if path is not None else None
        if loaded is None:
            return
        exported = loaded.frame.variables
        listed = exported.get("__all__")
        names = (
            [n for n in listed.items if isinstance(n, str)]
            if isinstance(listed, ListValue)
            else [n for n in exported if not n.startswith("_")]
        )
        for name in names:
            if name in exported:
                self.frame.variables[name] = exported[name]

    def _star_of_library(self, module: str) -> None:
        """`from torch.nn import *`: every capitalised or known name of the library, found when it is asked for."""
        frame = self.frame
        previous = frame.lookup

        def lookup(name: str) -> tuple[bool, Value]:
            if previous is not None:
                found, value = previous(name)
                if found:
                    return found, value
            if module.startswith("torch") and name in TORCH_STARS.get(module, ()):
                return True, External(f"{module}.{name}")
            if module.startswith("torch.nn") and name[:1].isupper() and module != "torch.nn.functional":
                return True, External(f"{module}.{name}")
            return False, None

        frame.lookup = lookup


TORCH_STARS: dict[str, tuple[str, ...]] = {
    "torch": (
        "nn",
        "optim",
        "tensor",
        "zeros",
        "ones",
        "randn",
        "rand",
        "cat",
        "stack",
        "no_grad",
        "Tensor",
        "autograd",
    ),
    "torch.nn.functional": (
        "relu",
        "softmax",
        "cross_entropy",
        "mse_loss",
        "dropout",
        "log_softmax",
        "sigmoid",
        "tanh",
    ),
    "torch.optim": ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"),
}

# Imported by name, never looked for in the workspace.
LIBRARIES = frozenset(
    """torch torchvision torchaudio numpy math random os sys time copy collections functools itertools typing
    dataclasses argparse json re pathlib abc enum contextlib logging warnings matplotlib pandas scipy
    sklearn PIL cv2 tqdm einops pytorch_lightning lightning accelerate transformers datasets wandb
    tensorboardX gym gymnasium __future__ types string operator heapq bisect datetime glob shutil
    subprocess pickle csv io gc inspect traceback unittest pytest skimage imageio nltk spacy h5py yaml
    omegaconf hydra torchmetrics torchtext apex deepspeed fairscale""".split()
)

__all__ = ["LIBRARIES", "Machine"]
