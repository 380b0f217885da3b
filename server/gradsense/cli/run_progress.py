"""What a run is at, in a line that comes and goes, where a person watches."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from gradsense.run.process import Event

if TYPE_CHECKING:
    from rich.status import Status


class RunProgress:
    """Listens to a run: passes on what the step prints, and says on a terminal what it is at while it prints nothing.

    All of it goes to standard error. Use it in a `with` statement.

    Args:
        label: what is run.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._at_line_start = True
        self._over = False

    def __enter__(self) -> RunProgress:
        self.say("importing torch")
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            self._hide()

    def __call__(self, event: Event) -> None:
        """Takes an event."""
        if event["event"] == "output":
            with self._lock:
                self._hide()
                sys.stderr.write(event["text"])
                sys.stderr.flush()
                self._at_line_start = event["text"].endswith("\n")
        elif event["event"] == "started":
            self.say(f"torch {event['torch']}" if event.get("torch") else "running")
        elif event["event"] == "pass":
            self.say(f"pass {event['pass']} of the loop on line {event['line']}")

    def say(self, text: str) -> None:
        """Shows what it is at, unless the step is in the middle of a line."""
        with self._lock:
            if self._over or not self._at_line_start or not sys.stderr.isatty():
                return
            line = f"{self._label}: {text}"
            if self._status is None:
                from rich.console import Console

                # A terminal that is told apart by its name, such as `dumb`, gets nothing that moves.
                console = Console(stderr=True, highlight=False)
                if not console.is_terminal or console.is_dumb_terminal:
                    return
                self._status = console.status(line)
                self._status.start()
            else:
                self._status.update(line)

    def _hide(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
