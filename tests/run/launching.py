"""Workers for tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

from gradsense.run import killing
from gradsense.run.process import Launch, Listener, Worker
from gradsense.run.report import Report
from gradsense.run.spec import Spec

QUICK = Path(__file__).with_name("quick")


def quick(folder: Path, **env: str) -> Launch:
    """An interpreter with a torch that is none, so that it starts at once, and a probe that does what it is told."""
    return Launch(sys.executable, {**os.environ, "PYTHONPATH": str(QUICK), **env}, str(folder), "fake_inside:run")


def run_quick(folder: Path, text: str, seconds: float = 20, listener: Listener | None = None, **spec: Any) -> Report:
    """Runs a text in a quick interpreter."""
    return Worker(quick(folder)).run(step(folder, text, **spec), seconds, listener)


def step(folder: Path, text: str, **spec: Any) -> Spec:
    """A spec of a text."""
    return Spec(str(folder / "step.py"), dedent(text), cwd=str(folder), **spec)


def left_of(worker: Worker) -> list[int]:
    """What still lives of all that a worker started."""
    return list(killing.marked(worker.mark))


def eventually(true: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether something becomes true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.01)
    return true()
