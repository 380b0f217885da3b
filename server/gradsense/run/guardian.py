"""The guardian: a small process that ends the workers when the process that started them is no more.

It is apart because a host that is killed can do nothing, a worker that holds Python's lock cannot notice, and what the
user's code started in sessions of its own belongs to no group that goes down with either.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from typing import IO

from gradsense.run import killing

# Started without a script or a module name, so that nothing in the folder the editor works in can be imported.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from gradsense.run.guardian import main; main()"


class Guardian:
    """The one of this process; started with the first worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._watched: dict[int, str] = {}

    def watch(self, pid: int, mark: str) -> None:
        """Has a worker ended when this process ends before `done`."""
        with self._lock:
            self._watched[pid] = mark
            if self._process is None or self._process.poll() is not None:
                self._process = _started()
                for other, name in self._watched.items():
                    self._tell(f"watch {other} {name}\n")
            else:
                self._tell(f"watch {pid} {mark}\n")

    def done(self, pid: int) -> None:
        """Says that a worker and all that it started have ended."""
        with self._lock:
            self._watched.pop(pid, None)
            self._tell(f"done {pid}\n")

    def close(self) -> None:
        """Ends the guardian, and with it what it still watches."""
        with self._lock:
            if self._process is not None:
                with contextlib.suppress(OSError):
                    _opened(self._process.stdin).close()
                self._process.wait()
                self._process = None

    def _tell(self, order: str) -> None:
        if self._process is not None:
            # One that has ended is started again with the next worker.
            with contextlib.suppress(OSError):
                stream = _opened(self._process.stdin)
                stream.write(order.encode())
                stream.flush()


def _started() -> subprocess.Popen[bytes]:
    here = os.path.dirname(os.path.abspath(__file__))
    path = [os.path.dirname(os.path.dirname(here)), *sys.path]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM.format(path=[entry for entry in path if entry])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=here,
        start_new_session=True,
    )


GUARDIAN = Guardian()
atexit.register(GUARDIAN.close)


def main() -> None:
    """Takes orders from standard input until the other end is closed, then ends what is left."""
    watched: dict[int, str] = {}
    for line in sys.stdin.buffer:
        order, pid, *mark = line.decode().split()
        if order == "watch":
            watched[int(pid)] = mark[0]
        else:
            watched.pop(int(pid), None)
    for left, name in watched.items():
        killing.end(left, name)


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
