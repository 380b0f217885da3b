"""What a program imports: a file of the workspace is run once, and one that only defines things when that is needed."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from gradsense.machine.definitions import exported_names, only_defines
from gradsense.machine.frames import Frame, Import
from gradsense.machine.limits import IMPORTS, OutOfBudget
from gradsense.machine.shelf import Kept, Loading, marks
from gradsense.machine.state import CONTROL
from gradsense.machine.statements import Statements
from gradsense.machine.tri import YES
from gradsense.machine.values import External, ListValue, ProgramModule, Unknown, Value
from gradsense.syntax.parse import ParsedModule

# After so many steps in imported files the others wait until somebody asks for them, whatever they do.
PATIENCE = 30_000


class Imports(Statements):
    """Runs the files that a program imports."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The file that is checked, and the files that were run, by their real paths.
        self.main = self.workspace.real(self.program.source.path)
        self.loaded = {self.main: ProgramModule("__main__", self.file_frame)}
        # Files that were looked at without being run.
        self.consulted: set[str] = set()
        # Files that are being run, outermost first, and those that were taken as an earlier machine left them.
        self.loading: list[Loading] = []
        self.taken: dict[Kept, None] = {}

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
        if len(self.loaded) > self.limits.imports or self.import_steps > self.limits.steps:
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
        steps, inside = self.steps_taken, self.import_steps
        try:
            finished = self._run_module(parsed, frame)
        finally:
            # The work that other files are is not the program's own.
            self.import_steps = inside + self.steps_taken - steps
            shelf.end(self, real, finished)
        return module

    def _run_module(self, parsed: ParsedModule, frame: Frame) -> bool:
        """Runs a file's module level, which belongs to no call and no pass; whether it came to its end."""
        previous = (self.source, self.stack, self.node, self.forward_depth, self.catching)
        grad_mode, epoch = self.grad_mode, self.epoch
        self.source = parsed.source
        self.forward_depth = 0
        self.stack = self.epoch = ()
        before, aside = marks(self), self.trail.set_aside()
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
            # Which path runs a file that only defines things, and which take it as it was left, makes no difference.
            self.trail.take_up(aside, done=marks(self) != before)
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
        if path is None:
            return
        if self._may_wait_for(path) and (exported := exported_names(self.workspace.load(path).tree)) is not None:
            for name, is_own in exported.items():
                # What a file imports itself may come from here.
                if is_own or not (name in self.frame.variables or name in self.frame.imported):
                    self.frame.variables.pop(name, None)
                    self.frame.imported[name] = Import(module, level, name)
            return
        loaded = self.load(path)
        if loaded is None:
            return
        listed = loaded.frame.variables.get("__all__")
        names = (
            [n for n in listed.items if isinstance(n, str)]
            if isinstance(listed, ListValue)
            else [n for n in (*loaded.frame.variables, *loaded.frame.imported) if not n.startswith("_")]
        )
        for name in names:
            if name in loaded.frame.variables:
                self.frame.variables[name] = loaded.frame.variables[name]
            elif name in loaded.frame.imported:
                self.frame.imported[name] = Import(module, level, name)

    # ------------------------------------------------------------------ files that wait

    def may_wait(self, meant: Import) -> bool:
        if self.frame.cls is not None or (not meant.level and meant.module.partition(".")[0] in LIBRARIES):
            return False
        path = self._file_of(meant.module, meant.level)
        if path is None:
            return False
        if meant.name is None:
            # Who imports a package may do so for what that does to others.
            first = self._file_of(meant.module.partition(".")[0], meant.level)
            return self._may_wait_for(path, deeply=True) and (first in (None, path) or self._may_wait_for(str(first)))
        beside = self.workspace.find(meant.name, 1, _inside(path)) if _is_package(path) else None
        if beside is not None and not self._may_wait_for(beside, deeply=True):
            return False
        return os.path.isdir(path) or self._may_wait_for(path)

    def _may_wait_for(self, path: str, *, deeply: bool = False) -> bool:
        """Whether a file only defines things; deeply: and so do those that it imports itself."""
        parsed = None if os.path.isdir(path) else self.workspace.parsed(path)
        if parsed is None:
            return False
        self.consulted.add(self.workspace.real(path))
        if self.import_steps > PATIENCE:
            return True
        if not only_defines(parsed.tree, partial(self._is_outside, parsed.source.path)):
            return False
        if not deeply:
            return True
        inside = self.workspace.imports(parsed, parsed.tree.body)
        return all(self._may_wait_for(file) for file in inside if file.endswith(".py"))

    def _is_outside(self, importer: str, module: str, level: int) -> bool:
        """Whether a module that a file imports is a library."""
        if level:
            return False
        return module.partition(".")[0] in LIBRARIES or self.workspace.find(module, 0, importer) is None

    def load_name(self, frame: Frame, name: str) -> Value:
        meant = frame.imported.pop(name)
        previous = (self.source, self.frame, self.grad_mode, self.inference, self.autocast)
        branches, self.branches = self.branches, {}
        self.source, self.frame = frame.source, frame
        self.grad_mode, self.inference, self.autocast = YES, False, False
        try:
            value = frame.variables[name] = self.import_of(meant)
        finally:
            self.source, self.frame, self.grad_mode, self.inference, self.autocast = previous
            # Which way a file goes that only defines things is not tried.
            self.branches = branches
            # It is back here so that another run finds it; meanwhile a circle of imports would have come back to it.
            frame.imported[name] = meant
        return value

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


def _inside(package: str) -> str:
    """The path that files of a package are found from."""
    return os.path.join(package, "__init__.py") if os.path.isdir(package) else package


def _is_package(path: str) -> bool:
    return os.path.isdir(path) or os.path.basename(path) == "__init__.py"
