"""The server's side of the worker: starts it, asks it, ends it when it runs too long, and starts it again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass

from gradsense.lsp.messages import Reply, Request
from gradsense.lsp.worker_process import WorkerProcess

TIME_LIMIT = 30.0
"""Seconds that one request may take once the worker is up. The analysis bounds itself by a few seconds of processor
time, which are several times as many on a busy machine."""

START_LIMIT = 30.0
"""Seconds more for the first request of a worker, which loads the analysis first."""

_CHECK_EVERY = 0.25


class WorkerDied(Exception):
    """The worker ended while it had a request; the message says why, for the log."""


@dataclass(eq=False)
class _Asked:
    """A request and who waits for its reply."""

    request: Request
    reply: asyncio.Future[Reply]


class Backend:
    """Answers requests through a worker process that is always there: one that ends is replaced.

    Requests are served in the order they come. One that is cancelled while it waits for its turn is never sent. One
    that makes way for others (see `messages`) is told of the next at once; any other is let finish first.

    Args:
        engine: `module:callable`, what the worker answers with.
        time_limit: seconds that one request may take.
        worker: the first worker, where it was started before.
    """

    def __init__(self, engine: str, time_limit: float = TIME_LIMIT, worker: WorkerProcess | None = None) -> None:
        self._engine = engine
        self._time_limit = time_limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._deadline: float | None = None
        self._overdue: float | None = None
        self._queue: deque[_Asked] = deque()
        self._sent: deque[_Asked] = deque()
        self._worker = worker or WorkerProcess(engine)

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
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._listen()
        asked = _Asked(request, self._loop.create_future())
        self._queue.append(asked)
        self._send()
        return await asked.reply

    async def watch(self) -> None:
        """Ends a worker that takes too long; runs as long as the server does."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._deadline = None
                self._overdue = self._limit
                self._worker.kill()

    def close(self) -> None:
        """Ends the worker; every request that still waits fails."""
        self._closed = True
        self._worker.kill()
        if self._loop is not None and self._loop.is_running():
            self._fail([*self._sent, *self._queue], "the server is shutting down")
            self._sent.clear()
            self._queue.clear()

    # ------------------------------------------------------------------ on the loop

    @property
    def _limit(self) -> float:
        return self._time_limit if self._worker.served else self._time_limit + START_LIMIT

    def _send(self) -> None:
        """Sends what can be sent."""
        while self._queue and not self._closed and (not self._sent or self._may_overlap()):
            asked = self._queue.popleft()
            if asked.reply.done():
                continue
            if not self._sent:
                self._deadline = time.monotonic() + self._limit
            self._sent.append(asked)
            self._worker.send(asked.request)

    def _may_overlap(self) -> bool:
        return len(self._sent) == 1 and self._sent[0].request.yields

    def _listen(self) -> None:
        worker, loop = self._worker, self._loop
        assert loop is not None

        def replied(reply: Reply | None) -> None:
            with contextlib.suppress(RuntimeError):
                # It says that the loop is closed, when nobody waits for anything any more.
                loop.call_soon_threadsafe(self._replied, worker, reply)

        worker.start(replied)

    def _replied(self, worker: WorkerProcess, reply: Reply | None) -> None:
        if reply is None:
            self._ended(worker)
            return
        if worker is not self._worker or not self._sent:
            return
        asked = self._sent.popleft()
        self._deadline = time.monotonic() + self._limit if self._sent else None
        if not asked.reply.done():
            asked.reply.set_result(reply)
        self._send()

    def _ended(self, worker: WorkerProcess) -> None:
        if worker is not self._worker or self._closed:
            return
        status = worker.status()
        why = f"it ended with status {status}"
        if self._overdue is not None:
            why = f"it took more than {self._overdue:g} s and was ended"
        self._overdue = self._deadline = None
        # What was sent behind the one that it died over goes to the next one.
        behind = list(self._sent)[1:]
        culprits = list(self._sent)[:1]
        self._sent.clear()
        self._queue.extendleft(reversed(behind))
        self._worker = WorkerProcess(self._engine)
        self._listen()
        self._fail(culprits, why)
        self._send()

    @staticmethod
    def _fail(asked: list[_Asked], why: str) -> None:
        for one in asked:
            if not one.reply.done():
                one.reply.set_exception(WorkerDied(why))
