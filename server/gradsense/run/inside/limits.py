"""Ends a program that takes too long, so that what it has shown so far can still be told."""

from __future__ import annotations

import _thread
import os
import signal
import threading


class TimeLimit:
    """Interrupts the main thread after some seconds, while it is entered.

    Attributes:
        passed: whether it did.
    """

    AGAIN = 3.0  # programs may catch the first interrupt to save something

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.passed = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> TimeLimit:
        self._set(self.seconds)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, seconds: float | None) -> None:
        if seconds:
            self._timer = threading.Timer(seconds, self._interrupt)
            self._timer.daemon = True
            self._timer.start()

    def _interrupt(self) -> None:
        self.passed = True
        if os.name == "posix":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # ends a sleep, too
        else:
            _thread.interrupt_main()
        self._set(self.AGAIN)
