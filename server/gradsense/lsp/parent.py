"""Watching the process that started us: a server whose client is gone must not stay behind."""

from __future__ import annotations

import asyncio
import os
import sys

_CHECK_EVERY = 2.0


async def outlived(pid: int) -> None:
    """Returns when the process is no more.

    Does so never for one that cannot be seen to begin with, such as that of a client in another container.
    """
    if not is_alive(pid):
        await asyncio.Event().wait()
    while is_alive(pid):
        await asyncio.sleep(_CHECK_EVERY)


def is_alive(pid: int) -> bool:
    """Whether a process of that number runs."""
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if sys.platform == "win32":
    import ctypes

    _SYNCHRONIZE = 0x0010_0000
    _WAIT_TIMEOUT = 0x102

    def _is_alive_on_windows(pid: int) -> bool:
        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
        finally:
            kernel.CloseHandle(handle)
