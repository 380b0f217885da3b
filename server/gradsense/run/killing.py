"""Ending a worker with everything that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

MARK = "GRADSENSE_RUN"
"""The variable in a worker's environment, and that of all that it starts, whose value names the run."""

_GRACE = 0.3
_TRIES = 50
_LOOKS = 2


def end(pid: int, mark: str, leader_is_gone: Callable[[], bool] | None = None) -> None:
    """Ends a worker, the processes of its group, and those of its run that left the group.

    Args:
        pid: the worker, which leads its group.
        mark: what names the run.
        leader_is_gone: reaps the worker if it has ended, and says whether it has. Given, the processes get a moment to
            go by themselves, in which Python's resource tracker removes what they left in shared memory.
    """
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    if leader_is_gone is not None:
        _signal_group(pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline:
            if leader_is_gone() and not _signal_group(pid, 0):
                break
            time.sleep(0.005)
    _signal_group(pid, signal.SIGKILL)
    quiet = 0
    for _ in range(_TRIES):
        left = list(marked(mark))
        # A process that is about to execute another program has no environment for a moment.
        quiet = 0 if left else quiet + 1
        if quiet == _LOOKS:
            return
        for stray in left:
            with contextlib.suppress(OSError):
                os.kill(stray, signal.SIGKILL)
        if leader_is_gone is not None:
            leader_is_gone()
        time.sleep(0.005)


def marked(mark: str) -> Iterator[int]:
    """The processes of a run that still live. Knows those of Linux only; elsewhere the group has to do."""
    entry = f"{MARK}={mark}".encode()
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if not name.isdecimal():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as environ:
            if entry in environ.read().split(b"\0"):
                yield int(name)


if sys.platform != "win32":

    def _signal_group(pid: int, number: int) -> bool:
        """Sends a signal to a group; False if it has no members left."""
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # macOS says so of a group whose members have all ended and wait to be reaped.
            return False
        return True
