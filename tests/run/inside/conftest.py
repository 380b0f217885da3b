"""Runs programs under the probe, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

HERE = Path(__file__).parent
SERVER = HERE.parents[2] / "server"

Report = dict[str, Any]


class Runner:
    """A process that has imported torch, and forks for each program."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SERVER), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(HERE / "serve.py")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def events(self, path: Path, text: str, **spec: Any) -> list[dict[str, Any]]:
        """Runs a program and returns all events."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"path": str(path), "text": text, **spec}) + "\n")
        self.process.stdin.flush()
        events: list[dict[str, Any]] = json.loads(self.process.stdout.readline())
        return events

    def close(self) -> None:
        """Ends the process."""
        self.process.communicate()


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """Skips the test where torch is not installed."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture
def probed(runner: Runner, tmp_path: Path) -> Callable[..., Report]:
    """Runs the text of a program, other files of its folder given by name, and returns the report."""

    def run(text: str, files: dict[str, str] | None = None, **spec: Any) -> Report:
        for name, content in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(dedent(content), encoding="utf-8")
        events = runner.events(tmp_path / "program.py", dedent(text), **spec)
        assert events and events[-1]["event"] == "report", events
        report: Report = events[-1]["report"]
        return report

    return run
