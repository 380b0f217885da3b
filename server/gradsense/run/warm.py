"""A worker kept ready: it has imported torch and nothing more, so that the next run starts at once.

Importing torch takes seconds, and a step often less. One is kept only after a run was asked for, since it takes memory
and executes code of the user's environment; it runs one spec and is then replaced by a fresh one.
"""

from __future__ import annotations

import os
import threading

from gradsense.run.process import Cancelled, Launch, WontStart, Worker

IDLE_SECONDS = 900.0
"""How long one is kept that nobody asks for."""

Stamp = tuple[tuple[str, int, int], ...]


class WarmWorker:
    """Keeps at most one worker ready."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._kept: Worker | None = None
        self._stamp: Stamp | None = None
        self._timer: threading.Timer | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process that is kept, if there is one."""
        kept = self._kept
        return None if kept is None else kept.pid

    def take(self, launch: Launch) -> Worker:
        """The worker that is ready, if it is what a launch would start now; a new one otherwise.

        Raises:
            WontStart: none can be started.
        """
        kept, stamp = self._pick()
        if kept is not None:
            if kept.launch == launch and kept.alive and (stamp is None or stamp == _stamp(tuple(n for n, *_ in stamp))):
                return kept
            kept.close()
        return Worker(launch)

    def prepare(self, launch: Launch) -> None:
        """Starts one in place of what is kept, and returns at once."""
        try:
            worker = Worker(launch)
        except WontStart:
            # Whoever asks for a run is told then.
            return
        with self._lock:
            before, self._kept, self._stamp = self._kept, worker, None
            closed = self._closed
            self._timer = self._restarted(self._timer)
        if before is not None:
            before.close()
        if closed:
            self.close()
            return
        threading.Thread(target=self._get_ready, args=(worker,), daemon=True).start()

    def discard(self) -> None:
        """Ends what is kept."""
        kept, _ = self._pick()
        if kept is not None:
            kept.close()

    def close(self) -> None:
        """Ends what is kept, for good."""
        self._closed = True
        self.discard()

    def _pick(self) -> tuple[Worker | None, Stamp | None]:
        with self._lock:
            kept, self._kept = self._kept, None
            stamp, self._stamp = self._stamp, None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return kept, stamp

    def _restarted(self, timer: threading.Timer | None) -> threading.Timer:
        if timer is not None:
            timer.cancel()
        timer = threading.Timer(self._idle_seconds, self.discard)
        timer.daemon = True
        timer.start()
        return timer

    def _get_ready(self, worker: Worker) -> None:
        try:
            ready = worker.wait_ready()
        except (WontStart, Cancelled):
            worker.close()
            return
        stamp = _stamp((worker.launch.python, *ready.files))
        with self._lock:
            if self._kept is worker:
                self._stamp = stamp


def _stamp(files: tuple[str, ...]) -> Stamp:
    """What tells whether one of these files has changed."""
    found = []
    for name in files:
        try:
            status = os.stat(name)
            found.append((name, status.st_mtime_ns, status.st_size))
        except OSError:
            found.append((name, 0, 0))
    return tuple(found)
