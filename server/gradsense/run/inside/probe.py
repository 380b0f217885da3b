"""The probe: what is switched on while the user's step runs, and switched off again afterwards."""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch
import torch.fx.traceback

from .aliases import watched
from .books import Books, Note
from .cost import Timing
from .cutting import LoopSite, Sites, compiled
from .eager import eagerly
from .existing import Existing, Inert, Text, last_line
from .growth import kept_nodes, may_grow
from .holders import find_holders
from .importing import Importing
from .loaders import Loaders
from .loops import LoopRun, Loops
from .not_a_number import scalers
from .optimizers import Optimizers
from .places import Places, capture
from .report import make_report
from .silent import moments_of_saving
from .walks import Engine, Walk, forget_filter, install, real_engine, remove
from .writes import Writes


class Probe:
    """Watches everything that autograd does, while it is entered.

        with Probe(files=[path]) as probe:
            exec(probe.compile(text, path), namespace)
        report = probe.report()

    Args:
        files: the file names of the user's code objects.
        roots: folders whose modules are the user's, too: they are watched when they are imported.
        passes: training loops are ended after so many passes; 0 lets them run.
        batches: data loaders yield so many batches; 0 lets them run.
        check_nan: whether a walk that yields NaN raises, as it does under `torch.autograd.detect_anomaly`.
        predictions: what was found without running, to be held against the run; None where nobody looked.
        measure_cost: whether one training loop goes on for some passes without the probe, to tell what it costs.
        send: is told of each measured pass of a training loop.
    """

    def __init__(
        self,
        *,
        files: Iterable[str] = (),
        roots: Iterable[str] = (),
        passes: int = 3,
        batches: int = 3,
        check_nan: bool = True,
        predictions: Iterable[dict[str, Any]] | None = None,
        measure_cost: bool = False,
        send: Callable[[dict[str, Any]], None] = lambda event: None,
    ) -> None:
        self.notes: list[str] = []
        self.more_walks_follow = self.out_of_time = False
        self.places = Places(files, roots)
        self.books = Books()
        self.sites = Sites()
        self.existing: Existing | None = None
        self.named: dict[str, Any] = {}
        self.loops = Loops(self.books, self.sites, passes, self._measured)
        self.writes = Writes(self.books)
        self.engine = Engine(real_engine(), self.books, self.writes, self.notes)
        self.optimizers = Optimizers(self.books, self.writes, self.loops.stepped)
        self.engine.began = self._walk_begins
        if measure_cost:
            self.loops.timing = Timing(passes, self._switch)
            batches *= 3
        self.engine.check_nan = check_nan
        self.predictions = None if predictions is None else list(predictions)
        self.send = send
        self.error: BaseException | None = None
        self._batches = batches
        self._undo = contextlib.ExitStack()
        self._set_anomaly: Any = torch.set_anomaly_enabled

    def compile(self, text: str, path: str) -> CodeType:
        """Compiles a program of the user's, so that its loops are seen.

        Raises:
            SyntaxError: it is not Python as this interpreter understands it.
        """
        self.places.add(path)
        if not linecache.getlines(path):
            linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return self.compile_tree(ast.parse(text, path), path)

    def compile_tree(self, tree: ast.Module, path: str, flags: int = 0) -> CodeType:
        """The same for a program that was parsed already, with the flags of its compiler. The tree is changed.

        Raises:
            SyntaxError: it is not Python as this interpreter understands it.
        """
        self.places.add(path)
        return compiled(tree, path, self.sites, flags)

    def live_on(self, texts: Iterable[Text]) -> None:
        """Makes ready for a process that goes on afterwards, as a notebook's kernel does: functions that exist already
        are watched too, and in the end all have the code that they were written with.

        Args:
            texts: what the functions were compiled from.
        """
        self.existing = Existing(texts, self.sites)
        self.sites.keep_originals = True

    def __enter__(self) -> Probe:
        undo = self._undo
        self.pid = os.getpid()
        self._name_builtins(self.loops.names())
        if self.existing is not None:
            undo.enter_context(self.existing)
        undo.enter_context(eagerly(self.notes))
        undo.enter_context(Importing(self.places, self.sites))
        undo.enter_context(Loaders(self._batches, self.notes, self.loops, self.places))
        undo.enter_context(_saved_tensor_hooks(self.books))
        undo.enter_context(_stacks_of_nodes(self.books))
        undo.enter_context(_anomaly_mode())
        undo.callback(forget_filter)
        self.writes.aliases = self.engine.silent.aliases
        undo.enter_context(watched(self.engine.silent.aliases))
        undo.enter_context(moments_of_saving(self.books))
        undo.enter_context(scalers(self.engine.amp))
        install(self.engine)
        undo.callback(remove, self.engine)
        self.writes.on()
        undo.enter_context(self.optimizers)
        self.engine.settle = self.optimizers.settle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.error = error
        self.optimizers.settle()
        if self.writes.is_on():
            self.writes.off()
        self._undo.close()

    def passes(self, items: Iterable[Any]) -> Iterator[Any]:
        """Goes through items and takes each for a pass of a training loop: for programs that were not rewritten."""
        frame = sys._getframe(1)
        self.places.add(frame.f_code.co_filename)
        return self.loops.watch(items, frame.f_code.co_filename, frame.f_lineno)

    def repeat(self, call: Callable[[], Any], passes: int, frame: FrameType, step: Any) -> None:
        """Calls a function so many times, each time a pass of a training loop. What it raises comes through.

        Args:
            call: the function.
            passes: how many times; a graph is seen to grow from three on.
            frame: whose variables are looked through for what holds a graph that grows.
            step: what the person calls the step: its lines are those of the loop.
        """
        __tracebackhide__ = True
        code = getattr(getattr(step, "__func__", step), "__code__", None)
        if code is not None and self.places.is_user(code.co_filename):
            site = LoopSite(code.co_filename, code.co_firstlineno, last_line(code))
        else:
            site = LoopSite(frame.f_code.co_filename, frame.f_lineno, frame.f_lineno)
        site.passes = passes
        owner = getattr(step, "__self__", None)
        self.named.update({"step": step} if owner is None else {"self": owner})
        run = self.loops.begin(site, self.loops.add(site))
        try:
            for _ in range(passes):
                call()
                self.loops.end_pass(run, frame)
        finally:
            self.loops.finish(run)

    def report(self) -> dict[str, Any]:
        """What happened."""
        return make_report(self)

    def _measured(self, run: LoopRun, frame: FrameType) -> None:
        if may_grow(run):
            run.holders = find_holders(frame, self.places, kept_nodes(run), self.named)
        if run.walks:
            last = run.measured[-1]
            self.send(
                {
                    "event": "pass",
                    "path": run.site.path,
                    "line": run.site.line,
                    "run": run.number,
                    "pass": run.passes,
                    "nodes": len(last.alive.nodes),
                    "saved_tensors": last.saved_tensors,
                    "saved_bytes": last.saved_bytes,
                    "alive_bytes": last.alive.bytes,
                }
            )

    def _walk_begins(self, walk: Walk) -> None:
        self.loops.walked(walk)
        if walk.adds:
            self.optimizers.stale.walked(walk.graph, walk.stack)

    def _switch(self, kind: str) -> None:
        """Leaves on what a kind of pass is timed under: `probe`, `anomaly` or `plain`."""
        on = kind == "probe"
        self.optimizers.settle()
        if on and self.loops.paused:
            self.writes.on()
        elif not on and self.writes.is_on():
            self.writes.off()
        self.loops.paused = self.books.paused = self.engine.paused = not on
        self._set_anomaly(kind != "plain", kind == "anomaly" and self.engine.check_nan)

    def _name_builtins(self, names: dict[str, Any]) -> None:
        for name, value in names.items():
            setattr(builtins, name, value)
        self._undo.callback(self._forget_builtins, names)

    def _forget_builtins(self, names: dict[str, Any]) -> None:
        self.loops.paused = True
        under_way = self.existing is not None and self.existing.under_way
        inert = Inert.names(self.sites) if under_way else {}
        for name in names:
            if name in inert:
                setattr(builtins, name, inert[name])
            else:
                delattr(builtins, name)


@contextlib.contextmanager
def _stacks_of_nodes(books: Books) -> Iterator[None]:
    """Has anomaly mode keep a note for each node, in place of the text of a stack, which takes far longer to make."""
    real = torch.fx.traceback.format_stack

    def format_stack() -> Any:
        if books.paused or getattr(torch.fx.traceback, "should_preserve_node_meta", False):
            return real()
        note: Note = books.note(capture(sys._getframe(1), books.base))
        return note

    torch.fx.traceback.format_stack = format_stack
    try:
        yield
    finally:
        torch.fx.traceback.format_stack = real


@contextlib.contextmanager
def _anomaly_mode() -> Iterator[None]:
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    real: Any = torch.set_anomaly_enabled

    def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
        real(True, enabled and check_nan)  # the program may switch it off, and the nodes need it still

    real(True, False)  # the check for NaN is our own
    torch.set_anomaly_enabled = set_anomaly_enabled
    try:
        yield
    finally:
        torch.set_anomaly_enabled = real
        real(*before)


@contextlib.contextmanager
def _saved_tensor_hooks(books: Books) -> Iterator[None]:
    """Counts the saved-tensor hooks that are on."""
    autograd: Any = torch._C._autograd
    push, pop = autograd._push_saved_tensors_default_hooks, autograd._pop_saved_tensors_default_hooks

    def pushed(*hooks: Any) -> Any:
        books.hooks += 1
        return push(*hooks)

    def popped() -> Any:
        books.hooks -= 1
        return pop()

    autograd._push_saved_tensors_default_hooks = pushed
    autograd._pop_saved_tensors_default_hooks = popped
    try:
        yield
    finally:
        autograd._push_saved_tensors_default_hooks = push
        autograd._pop_saved_tensors_default_hooks = pop


@contextlib.contextmanager
def only_new_objects() -> Iterator[None]:
    """Hides what exists already from the garbage collector, so that each look at what is alive is quick."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
