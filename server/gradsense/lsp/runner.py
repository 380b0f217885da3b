"""Runs of steps beside the protocol: one at a time, each of them ended as soon as nobody wants it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from gradsense.run.process import Cancelled, Event, Worker
from gradsense.run.report import Report
from gradsense.run.step import Step
from gradsense.run.warm import WarmWorker


@dataclass(eq=False)
class Running:
    """A run that was asked for, from its planning to its end.

    Args:
        uri: the program that it is of.
    """

    uri: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _worker: Worker | None = field(default=None, repr=False)
    _cancelled: bool = False

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends it at once, in whatever state it is. Blocks until its processes are gone."""
        with self._lock:
            self._cancelled = True
            worker = self._worker
        if worker is not None:
            worker.cancel()

    def take(self, worker: Worker) -> None:
        """Takes charge of a worker.

        Raises:
            Cancelled: it is not wanted any more, and has been ended.
        """
        with self._lock:
            self._worker = worker
            cancelled = self._cancelled
        if cancelled:
            worker.cancel()
            raise Cancelled


class Runner:
    """Runs steps for the server. Nothing here blocks the loop; the work is done in threads that wait for processes."""

    def __init__(self) -> None:
        self._warm = WarmWorker()
        self._turn = asyncio.Lock()
        self._running: dict[str, Running] = {}

    @property
    def warm_pid(self) -> int | None:
        """The process that is kept ready, if there is one."""
        return self._warm.pid

    async def begin(self, uri: str) -> Running:
        """Registers a run of a program, in place of the one of it that is there."""
        before = self._running.get(uri)
        running = self._running[uri] = Running(uri)
        if before is not None:
            await asyncio.to_thread(before.cancel)
        return running

    async def run(self, running: Running, step: Step, listener: Callable[[Event], None]) -> Report:
        """Runs a step when its turn comes: one after another, since they share a GPU and a memory.

        Args:
            running: what it was registered as.
            step: what is run.
            listener: told of every event, from other threads.

        Raises:
            Cancelled: it is not wanted any more.
            WontStart: the interpreter is of no use.
        """
        async with self._turn:
            if running.cancelled:
                raise Cancelled
            worker = asyncio.create_task(asyncio.to_thread(self._work, running, step, listener))
            try:
                return await asyncio.shield(worker)
            except asyncio.CancelledError:
                await asyncio.to_thread(running.cancel)
                await asyncio.gather(worker, return_exceptions=True)
                raise

    def end(self, running: Running) -> None:
        """Forgets a run that is over."""
        if self._running.get(running.uri) is running:
            del self._running[running.uri]

    def discard(self) -> None:
        """Ends the process that is kept ready, such as when the workspace is no longer trusted."""
        self._warm.discard()

    def close(self) -> None:
        """Ends all runs, and what is kept ready."""
        for running in list(self._running.values()):
            running.cancel()
        self._warm.close()

    def _work(self, running: Running, step: Step, listener: Callable[[Event], None]) -> Report:
        worker = self._warm.take(step.launch)
        running.take(worker)
        try:
            return worker.run(step.spec, step.time_limit, listener)
        finally:
            if not running.cancelled:
                self._warm.prepare(step.launch)
