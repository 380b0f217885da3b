"""The machine: runs a program of one or several files on an abstract torch."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable

from gradsense.machine import conclude
from gradsense.machine.books import PathEnds
from gradsense.machine.frames import Frame
from gradsense.machine.limits import IMPORTS, STACK, OutOfBudget
from gradsense.machine.sharing import forget_use, is_static
from gradsense.machine.state import CONTROL, BranchKey
from gradsense.machine.statements import Statements
from gradsense.machine.tri import YES
from gradsense.machine.values import (
    DictValue,
    External,
    ListValue,
    ProgramModule,
    Unknown,
    Value,
)
from gradsense.syntax.parse import ParsedModule

# Seconds that a path which took too long may still draw its conclusions.
CONCLUDING = 0.5


class Machine(Statements):
    """Runs one path through a program."""

    ended_early = False
    walking_cells: list[int]
    _snapshot: list[tuple[Frame, dict[str, Value]]] | None = None

    def run_program(self) -> None:
        """Runs the module level of the program."""
        self.walking_cells = []
        self.loaded: dict[str, ProgramModule] = {
            os.path.realpath(self.program.source.path): ProgramModule("__main__", self.file_frame)
        }
        cells = self.program.source.cells
        if cells:
            self._guarded(lambda: self._run_cells(None))
        else:
            self._guarded(lambda: self.run_block(self.program.tree.body))

    def rerun_cell(self, index: int) -> None:
        """Runs the cells up to one of them, and that one again."""
        self.loaded = {os.path.realpath(self.program.source.path): ProgramModule("__main__", self.file_frame)}
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
                self.run_block(inside)
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
        self.deadline = max(self.deadline, time.monotonic() + CONCLUDING)
        try:
            conclude.conclude(self)
        except OutOfBudget:
            pass
        except Exception as error:
            self.failures.append(f"{self.program.source.path}:1: {type(error).__name__}: {error} (concluding)")
        self.workspace.shared.restore()

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
        self.walks = []
        self.steps = []
        self.failures = []
        self.sites = {}
        self.doubts = {}
        self.ended_early = False

    def reusable(self) -> bool:
        """Whether units can be run on this machine one after the other: its module level holds no tensor or object."""
        if self.events or self.optimizers:
            return False
        for module in self.loaded.values():
            for value in module.frame.variables.values():
                if not is_static(value):
                    return False
        return True

    def fresh_unit(self, forced: dict[BranchKey, bool]) -> Machine:
        """This machine as it was after its module level, for the run of a unit."""
        self.forget_module_level()
        self.forced = forced
        self.branches = {}
        self.new_facts = False
        self.renew_budget()
        self.left_out = set()
        self.order = self.node_count = self.loop_count = 0
        self.reached = set()
        self.optimizers = []
        self.grad_mode = YES
        self.inference = self.autocast = self.assumed = False
        self.catching = self.forward_depth = self.depth = 0
        self.active_calls = {}
        self.frames = [self.file_frame]
        self.frame = self.file_frame
        self.source = self.program.source
        self.module = None
        self.none_gradient = None
        self.called = set()
        self.handed_over = set()
        if self._snapshot is None:
            # Shared modules watch over themselves.
            own = [m for path, m in self.loaded.items() if self.workspace.shared.find(path) is not m]
            self._snapshot = [(m.frame, dict(m.frame.variables)) for m in own]
        for frame, variables in self._snapshot:
            frame.variables = {k: _copied(v) for k, v in variables.items()}
        return self

    def finished(self) -> Machine:
        """What this run found, in a machine of its own, so that the next unit can take this one."""
        return copy.copy(self)

    # ------------------------------------------------------------------ imports

    def load(self, path: str) -> ProgramModule | None:
        """The module of a file of the workspace, run once."""
        real = self.workspace.real(path)
        known = self.loaded.get(real)
        if known is not None:
            return known
        shared = self.workspace.shared.find(real)
        if shared is not None:
            self.loaded[real] = shared
            return shared
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
        before = (len(self.events), len(self.branches), self.node_count)
        self._run_module(parsed, frame)
        if before == (len(self.events), len(self.branches), self.node_count):
            self.workspace.shared.offer(real, module)
        return module

    def _run_module(self, parsed: ParsedModule, frame: Frame) -> None:
        previous = (self.source, self.stack, self.node, self.forward_depth, self.catching, self.grad_mode)
        self.source = parsed.source
        self.forward_depth = 0
        try:
            with self.entered(frame):
                self.run_block(parsed.tree.body)
        except CONTROL as signal:
            if isinstance(signal, OutOfBudget):
                raise
        finally:
            self.source, self.stack, self.node, self.forward_depth, self.catching, self.grad_mode = previous

    def workspace_attribute(self, module: ProgramModule, name: str) -> Value:
        folder = module.frame.variables.get("__path__")
        if isinstance(folder, str):
            path = self.workspace.find(name, 1, os.path.join(folder, "__init__.py"))
            if path is not None and (loaded := self.load(path)) is not None:
                return loaded
        return Unknown(name=name)

    def import_module(self, name: str, level: int, *, whole: bool) -> Value:
        first = name.partition(".")[0]
        if first in LIBRARIES:
            return External(name if whole else first)
        path = self.workspace.find(name, level, self.source.path)
        if path is not None:
            loaded = self.load(path)
            if loaded is not None:
                if whole or "." not in name:
                    return loaded
                top = self.workspace.find(first, level, self.source.path)
                return (self.load(top) if top is not None else None) or loaded
        return External(name if whole else first)

    def import_name(self, module: str, level: int, name: str) -> Value:
        if not level and module.partition(".")[0] in LIBRARIES:
            return External(f"{module}.{name}")
        path = self.workspace.find(module, level, self.source.path)
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
        path = self.workspace.find(module, level, self.source.path)
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


def _copied(value: Value) -> Value:
    """A container that a unit may write to, anew."""
    if isinstance(value, ListValue):
        made = ListValue(value.items, value.made, value.kind)
        made.open, made.maximum, made.stores = value.open, value.maximum, list(value.stores)
        return made
    if isinstance(value, DictValue):
        copied = DictValue(value.items, value.made)
        copied.default, copied.open, copied.stores = value.default, value.open, list(value.stores)
        return copied
    if isinstance(value, Unknown):
        forget_use(value)
    return value


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
