"""A bar that counts the files that are done, where it takes long and a person watches."""

from __future__ import annotations

import sys
import threading

_PATIENCE = 0.6


class Progress:
    """Draws on standard error if that is a terminal, and only after a while; use it in a `with` statement."""

    def __init__(self, total: int) -> None:
        self._timer: threading.Timer | None = None
        if total > 1 and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            columns = (
                progress.TextColumn("checking"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn("files"),
            )
            self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)
            self._timer = threading.Timer(_PATIENCE, self._bar.start)
            self._timer.daemon = True

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def advance(self, files: int) -> None:
        """Counts some files as done."""
        if self._timer is not None:
            self._bar.advance(self._task, files)
