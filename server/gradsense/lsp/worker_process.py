"""A worker as the server sees it: a process that answers requests over pipes.

It is the first thing that the server starts, and then loads beside it: nothing slow is imported here.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from gradsense.lsp import wire

if TYPE_CHECKING:
    from gradsense.lsp.messages import Reply, Request

# Started without a script or a module name, so that nothing in the folder the editor works in can be imported.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from gradsense.lsp.worker import main; main({engine!r})"


class WorkerProcess:
    """One worker process. Requests go out on one thread and replies come in on another, so that nobody waits."""

    def __init__(self, engine: str) -> None:
        path = [entry for entry in sys.path if entry]
        self._process = subprocess.Popen(
            [sys.executable, *_flags(), "-c", _PROGRAM.format(path=path, engine=engine)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._input: IO[bytes] = _opened(self._process.stdin)
        self._output: IO[bytes] = _opened(self._process.stdout)
        self._outbox: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self.served = 0

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def start(self, replied: Callable[[Reply | None], None]) -> None:
        """Begins to pass messages.

        Args:
            replied: called for each reply, on another thread; with None, once, when there will be no more.
        """
        threading.Thread(target=self._write, name="gradsense-requests", daemon=True).start()
        threading.Thread(target=self._read, args=(replied,), name="gradsense-replies", daemon=True).start()

    def send(self, request: Request) -> None:
        """Sends a request; each gets one reply, in order."""
        self._outbox.put(request)

    def kill(self) -> None:
        """Ends it at once; it has nothing to lose."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def status(self) -> int:
        """Its exit status, once it has ended."""
        return self._process.wait()

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                wire.send(self._input, self._outbox.get())

    def _read(self, replied: Callable[[Reply | None], None]) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                reply: Reply = wire.receive(self._output)
                self.served += 1
                replied(reply)
        replied(None)


def _flags() -> list[str]:
    """Those of our own interpreter that keep foreign code out."""
    if sys.flags.isolated:
        return ["-I"]
    return ["-E"] * sys.flags.ignore_environment + ["-s"] * sys.flags.no_user_site


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
