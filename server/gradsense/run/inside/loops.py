"""Counts the passes of the program's loops, measures the first ones, and ends training loops after a few."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import torch

from .books import Books
from .cost import Timing
from .cutting import ENTER, FOR, SEEN, WHILE, LoopSite, Sites
from .memory import Alive
from .walks import Walk


class Pass:
    """One measured pass.

    Attributes:
        alive: what was alive at its end.
        saved_tensors, saved_bytes: what was saved for the walks in it, or is still saved where there was none.
        walks: how many walks were in it.
        loss: the sum of the values that were walked from.
        seconds: how long it took, without the measuring.
        end: the tick of its end.
    """

    def __init__(self, run: LoopRun, alive: Alive, seconds: float, end: int) -> None:
        self.alive, self.seconds, self.end = alive, seconds, end
        self.walks, self.loss = run.walks, run.loss
        walked = run.saved_tensors > 0
        self.saved_tensors = run.saved_tensors if walked else alive.saved_tensors
        self.saved_bytes = run.saved_bytes if walked else alive.saved_bytes


class LoopRun:
    """One run of a loop: from its first pass to its end.

    Attributes:
        number: how many runs of this loop there were before.
        begun: the tick of its beginning.
        passes: the passes ended so far.
        counted: those of them that walked a graph or made a step.
        measured: the measured ones.
        cut: whether it was ended early.
        over: the tick of its end.
        holders: what held the graphs of earlier passes, where the loop was seen to keep some.
    """

    def __init__(self, site: LoopSite, number: int, begun: int) -> None:
        self.site, self.number, self.begun = site, number, begun
        self.passes = self.counted = self.steps = 0
        self.measured: list[Pass] = []
        self.cut = False
        self.over: int | None = None
        self.holders: list[Any] = []
        self.clock = time.perf_counter()
        self.reset()

    def reset(self) -> None:
        """Begins a pass."""
        self.walks = self.freeing = self.stepped = 0
        self.saved_tensors = self.saved_bytes = 0
        self.loss: float | None = None
        self.seen: set[int] = set()
        self.nodes_before = -1


class Loops:
    """All loops of the program.

    Args:
        passes: after how many passes a training loop is ended; 0 leaves all loops alone.
        on_measured: is told of each measured pass, with the frame that the loop stands in.
    """

    RUNS, MEASURED, EVERY_WALK, ROOTS = 2, 160, 8, 32

    def __init__(
        self, books: Books, sites: Sites, passes: int, on_measured: Callable[[LoopRun, FrameType], None]
    ) -> None:
        self.books, self.sites, self.limit, self.on_measured = books, sites, passes, on_measured
        self.active: list[LoopRun] = []
        self.runs: list[LoopRun] = []  # those that were measured
        self.walks: list[tuple[int, frozenset[int]]] = []
        self.kept: set[int] = set()
        self.roots: list[float] = []  # what the first walks began from
        self.timing: Timing | None = None
        self.measurements = 0
        self.paused = False
        self._counts: dict[int, int] = {}
        self._watched: dict[tuple[str, int, bool], int] = {}
        self._thread = threading.get_ident()
        self._while: dict[tuple[int, int], LoopRun] = {}

    def names(self) -> dict[str, Any]:
        """What the rewritten program calls, by name."""
        called = {FOR: self._for, ENTER: self._enter, WHILE: self._tick, SEEN: self.sites.seen}
        return {self.sites.name(what): value for what, value in called.items()}

    def walked(self, walk: Walk) -> None:
        """Counts a walk for the loops that it happens in."""
        if walk.root is not None and len(self.roots) < self.ROOTS:
            self.roots.append(walk.root)
        for run in self.active:
            run.walks += 1
            run.freeing += walk.frees and not walk.create
            if walk.root is not None:
                run.loss = (run.loss or 0.0) + walk.root
            seen = run.seen
            tensors = 0
            memory: dict[int, int] = {}
            for entry in walk.graph.saved:
                tick = entry.note.tick if entry.note is not None else 0
                if tick not in seen:
                    tensors += 1
                    if not entry.leaf:
                        memory[entry.storage] = entry.nbytes
            seen |= walk.ids
            run.saved_tensors += tensors
            run.saved_bytes += sum(memory.values())
        if self.kept:
            self.walks.append((walk.tick, walk.ids & self.kept))

    def stepped(self) -> None:
        """Counts an optimizer's step for the loops that it happens in."""
        for run in self.active:
            run.stepped += 1

    def walked_after(self, tick: int) -> set[int]:
        """The nodes that were walked after some moment."""
        found: set[int] = set()
        for when, ids in self.walks:
            if when > tick:
                found |= ids
        return found

    def begin(self, site: LoopSite, number: int) -> LoopRun:
        """Begins a run of a loop."""
        count = self._counts[number] = self._counts.get(number, -1) + 1
        run = LoopRun(site, count, self.books.tick())
        self.active.append(run)
        run.nodes_before = self.books.nodes
        return run

    def end_pass(self, run: LoopRun, frame: FrameType) -> bool:
        """Ends a pass. Returns whether there may be another."""
        now, clock = time.perf_counter(), run.clock
        if run in self.active:
            del self.active[self.active.index(run) + 1 :]  # loops inside that were left by break or an exception
        else:
            self.active.append(run)
        run.passes += 1
        run.steps += run.stepped > 0
        if run.freeing or run.stepped or (run.walks and run.passes > self.EVERY_WALK):
            run.counted += 1
        if self._worth_measuring(run) and not (run.walks == 0 and _in_module(frame)):
            self._measure(run, now, frame)
        enough = 0 < self.limit <= run.counted
        if enough and run.site.steps and run.steps < min(2, self.limit):  # accumulates gradients over several passes
            enough = run.passes >= 16 * self.limit
        run.reset()
        run.nodes_before = self.books.nodes
        if self.timing is not None and self.timing.ended(run, now - clock, enough):
            enough = False
        run.cut = run.cut or enough
        run.clock = time.perf_counter()
        return not enough

    def finish(self, run: LoopRun) -> None:
        """Ends a run."""
        run.over = self.books.tick()
        if self.timing is not None:
            self.timing.left(run)
        if run in self.active:
            del self.active[self.active.index(run) :]

    def _worth_measuring(self, run: LoopRun) -> bool:
        if (
            self.paused
            or (run.site.in_forward and run.walks == 0)
            or run.number >= self.RUNS
            or self.measurements >= self.MEASURED
        ):
            return False
        if self.books.nodes == run.nodes_before:
            return False
        return len(run.measured) < max(self.limit, run.site.passes, 3)

    def _measure(self, run: LoopRun, now: float, frame: FrameType) -> None:
        seconds = now - run.clock
        alive = Alive()
        self.measurements += 1
        run.measured.append(Pass(run, alive, seconds, self.books.tick()))
        self.kept |= alive.nodes
        if run not in self.runs:
            self.runs.append(run)
        self.on_measured(run, frame)
        spent = time.perf_counter() - now
        for outer in self.active:
            outer.clock += spent

    def watch(self, items: Iterable[Any], path: str, line: int, foreign: bool = False) -> Iterator[Any]:
        """Takes each item for a pass of a loop that stands on that line."""
        number = self._watched.get((path, line, foreign))
        if number is None:
            site = LoopSite(path, line, line)
            site.foreign = foreign
            number = self._watched[path, line, foreign] = self.add(site)
        return _Passes(self, number, items)

    def add(self, site: LoopSite) -> int:
        """Takes a loop that was not rewritten, and returns its number."""
        self.sites.loops.append(site)
        return len(self.sites.loops) - 1

    def _for(self, number: int, items: Iterable[Any]) -> Iterator[Any]:
        if threading.get_ident() != self._thread:
            return iter(items)
        return _Passes(self, number, items)

    def _enter(self, number: int) -> None:
        if threading.get_ident() != self._thread:
            return
        run = self.begin(self.sites.loops[number], number)
        self._while[number, id(sys._getframe(1))] = run
        run.passes = -1  # the first test of the condition ends no pass

    def _tick(self, number: int) -> bool:
        frame = sys._getframe(1)
        if threading.get_ident() != self._thread:
            return True
        run = self._while[number, id(frame)]
        if run.passes < 0:
            run.passes = 0
            return True
        if not self.end_pass(run, frame):
            self.finish(run)
            return False
        return True


class _Passes:
    """The items of a `for` loop."""

    __slots__ = ("begun", "items", "loops", "run")

    def __init__(self, loops: Loops, number: int, items: Iterable[Any]) -> None:
        self.items = iter(items)
        self.loops = loops
        self.run = loops.begin(loops.sites.loops[number], number)
        self.begun = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.begun and not self.loops.end_pass(self.run, sys._getframe(1)):
            self.loops.finish(self.run)
            raise StopIteration
        self.begun = True
        try:
            return next(self.items)
        except StopIteration:
            self.loops.finish(self.run)
            raise

    def __del__(self) -> None:
        if self.run.over is None:
            self.loops.finish(self.run)


def _in_module(frame: FrameType | None) -> bool:
    """Whether a module's call is under way: a loop in it builds a part of one graph."""
    while frame is not None:
        if frame.f_code in _MODULE_CALLS:
            return True
        frame = frame.f_back
    return False


_MODULE_CALLS = frozenset(
    getattr(torch.nn.Module, name).__code__
    for name in ("_call_impl", "_wrapped_call_impl")
    if hasattr(torch.nn.Module, name)
)
