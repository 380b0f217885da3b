"""The server's side of the worker: starts it, asks it, ends it when it runs too long, and starts it again."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from gradsense.lsp import wire
from gradsense.lsp.messages import Reply, Request

TIME_LIMIT = 10.0
"""Seconds that one request may take once the worker is up."""

START_LIMIT = 30.0
"""Seconds more for the first request of a worker, which loads the analysis first."""

_CHECK_EVERY = 0.25

# Started without a script or a module name, so that nothing in the folder the editor works in can be imported.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from gradsense.lsp.worker import main; main({engine!r})"


class WorkerDied(Exception):
    """The worker ended while it had a request; the message says why, for the log."""


class WorkerProcess:
    """One worker process. Its calls block, and are made from one thread at a time."""

    def __init__(self, engine: str) -> None:
        path = [entry for entry in sys.path if entry]
        self._process = subprocess.Popen(
            [sys.executable, *_flags(), "-c", _PROGRAM.format(path=path, engine=engine)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._input: IO[bytes] = _opened(self._process.stdin)
        self._output: IO[bytes] = _opened(self._process.stdout)
        self.served = 0

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def call(self, request: Request) -> Reply:
        """Sends a request and waits for its reply.

        Raises:
            WorkerDied: it ended before it replied.
        """
        try:
            wire.send(self._input, request)
            reply: Reply = wire.receive(self._output)
        except (OSError, EOFError, ValueError):
            raise WorkerDied(f"it ended with status {self._process.wait()}") from None
        self.served += 1
        return reply

    def kill(self) -> None:
        """Ends it at once; it has nothing to lose."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()


class Backend:
    """Answers requests through a worker process that is always there: one that ends is replaced.

    Requests are served in the order they come. One that is cancelled while it waits for its turn is never sent.

    Args:
        engine: `module:callable`, what the worker answers with.
        time_limit: seconds that one request may take.
    """

    def __init__(self, engine: str, time_limit: float = TIME_LIMIT) -> None:
        self._engine = engine
        self._time_limit = time_limit
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gradsense-backend")
        self._lock = threading.Lock()
        self._closed = False
        self._deadline: float | None = None
        self._overdue = False
        self._worker = WorkerProcess(engine)

    @property
    def pid(self) -> int:
        """The process number of the worker of the moment."""
        return self._worker.pid

    def another(self) -> Backend:
        """One more of the same, with a worker of its own; whoever asked for it closes it."""
        return Backend(self._engine, self._time_limit)

    async def ask(self, request: Request) -> Reply:
        """Has the worker answer a request.

        Raises:
            WorkerDied: it ended over this request, or was ended for taking too long; the next request finds a new one.
        """
        if self._closed:
            raise WorkerDied("the server is shutting down")
        return await asyncio.wrap_future(self._thread.submit(self._call, request))

    async def watch(self) -> None:
        """Ends a worker that takes too long; runs as long as the server does."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            with self._lock:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    self._deadline = None
                    self._overdue = True
                    self._worker.kill()

    def close(self) -> None:
        """Ends the worker; every request that still waits fails."""
        with self._lock:
            self._closed = True
            self._worker.kill()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _call(self, request: Request) -> Reply:
        worker = self._living_worker()
        with self._lock:
            limit = self._time_limit if worker.served else self._time_limit + START_LIMIT
            self._deadline = time.monotonic() + limit
            self._overdue = False
        try:
            return worker.call(request)
        except WorkerDied as death:
            with self._lock:
                if not self._closed:
                    self._worker = WorkerProcess(self._engine)
                if self._overdue:
                    raise WorkerDied(f"it took more than {limit:g} s and was ended") from None
            raise death
        finally:
            with self._lock:
                self._deadline = None

    def _living_worker(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise WorkerDied("the server is shutting down")
            if not self._worker.alive:
                self._worker = WorkerProcess(self._engine)
            return self._worker


def _flags() -> list[str]:
    """Those of our own interpreter that keep foreign code out."""
    if sys.flags.isolated:
        return ["-I"]
    return ["-E"] * sys.flags.ignore_environment + ["-s"] * sys.flags.no_user_site


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
