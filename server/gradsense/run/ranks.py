"""A distributed run: the step as several ranks under torch's own launcher, and one report of them all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any

from gradsense.run import killing
from gradsense.run.endings import out_of_time
from gradsense.run.guardian import GUARDIAN
from gradsense.run.output import Output
from gradsense.run.process import PACKAGE, START, START_LIMIT, Cancelled, Listener, WontStart, as_report, opened
from gradsense.run.report import Fault, Outcome, Report
from gradsense.run.step import Step

_POLL = 0.05
_OTHERS = 10.0
"""Seconds that the other ranks have to notice that one has failed: they may wait for it for ever."""

_WORST_FIRST: tuple[Outcome, ...] = ("raises", "nan", "grows", "failed", "timeout", "clean")


def run_ranks(step: Step, ranks: int, listener: Listener, cancelled: threading.Event | None = None) -> Report:
    """Runs a step as so many ranks on this machine.

    Args:
        step: what is run.
        ranks: how many processes.
        listener: told of output as it comes, from another thread.
        cancelled: ends the run when it is set.

    Returns:
        The report of the rank that fared worst, with those of all in `ranks`.

    Raises:
        WontStart: the launcher could not start them.
        Cancelled: it was cancelled.
    """
    folder = tempfile.mkdtemp(prefix="gradsense-")
    try:
        with open(os.path.join(folder, "spec.json"), "w", encoding="utf-8") as spec:
            json.dump(step.spec.to_json(), spec)
        launched = _Launched(step, ranks, folder, listener)
        try:
            reports = launched.follow(cancelled or threading.Event())
        finally:
            launched.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    # A rank that knows why comes before those that only lost their connection to it.
    worst = min(reports, key=lambda report: (_WORST_FIRST.index(report.outcome), report.saved is None))
    return replace(worst, ranks=tuple(reports), output=launched.output.text)


class _Launched:
    """The launcher with its ranks."""

    def __init__(self, step: Step, ranks: int, folder: str, listener: Listener) -> None:
        self.output = Output()
        self._step = step
        self._listener = listener
        self._speaking = threading.Lock()
        self._mark = uuid.uuid4().hex
        self._events = [_Tail(rank, os.path.join(folder, f"events-{rank}"), self._say) for rank in range(ranks)]
        launch = step.launch
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        env = {**launch.env, killing.MARK: self._mark, "GRADSENSE_HOST_PID": str(os.getpid())}
        # What the launcher says without being asked, for each rank that has no limit of its own.
        env.setdefault("OMP_NUM_THREADS", "1")
        try:
            self._process = subprocess.Popen(
                [launch.python, *launcher, START, PACKAGE, launch.entry, folder],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=launch.cwd,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise WontStart(f"{launch.python} cannot be started: {error.strerror or error}") from None
        GUARDIAN.watch(self._process.pid, self._mark)
        self._reader = threading.Thread(target=self._read, args=(opened(self._process.stdout),), daemon=True)
        self._reader.start()

    def follow(self, cancelled: threading.Event) -> list[Report]:
        """Waits until all ranks have reported, or it is clear that they will not."""
        deadline = time.monotonic() + START_LIMIT
        running = False
        while self._process.poll() is None and time.monotonic() < deadline:
            if cancelled.wait(_POLL):
                raise Cancelled
            for tail in self._events:
                tail.read()
            if not running and all(tail.ready for tail in self._events):
                running, deadline = True, time.monotonic() + self._step.time_limit
            if any(tail.has_failed for tail in self._events):
                deadline = min(deadline, time.monotonic() + _OTHERS)
                running = True
            if all(tail.value is not None for tail in self._events):
                deadline = min(deadline, time.monotonic() + 1.0)
        ended = self._process.poll() is not None
        self.close()
        for tail in self._events:
            tail.read()
        if not any(tail.ready for tail in self._events):
            said = self.output.text.strip().splitlines()
            raise WontStart(f"the ranks did not start: {said[-1] if said else 'the launcher said nothing'}")
        return [self._report(rank, tail, ended) for rank, tail in enumerate(self._events)]

    def close(self) -> None:
        """Ends all of them."""
        killing.end(self._process.pid, self._mark, lambda: self._process.poll() is not None)
        self._process.wait()
        GUARDIAN.done(self._process.pid)
        self._reader.join(1)

    def _report(self, rank: int, tail: _Tail, ended: bool) -> Report:
        if tail.value is not None:
            return as_report(tail.value, tail.torch, "")
        failed = [number for number, other in enumerate(self._events) if other.has_failed]
        if failed:
            fault = Fault("Rank", f"rank {rank} was ended, since rank {failed[0]} had failed and it waited for it")
            return Report("failed", fault, torch=tail.torch)
        if ended:
            return Report("failed", Fault("Rank", f"rank {rank} ended before it had reported"), torch=tail.torch)
        return Report("timeout", out_of_time(self._step.spec, self._step.time_limit, ()), torch=tail.torch)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._say(line.decode("utf-8", "replace"))

    def _say(self, text: str) -> None:
        with self._speaking:
            self.output.add(text)
            self._listener({"event": "output", "text": text})


class _Tail:
    """What one rank tells, read from its file as it grows."""

    def __init__(self, rank: int, path: str, say: Callable[[str], None]) -> None:
        self._rank = rank
        self._path = path
        self._say = say
        self._line = ""
        self._position = 0
        self.ready = False
        self.torch = ""
        self.value: dict[str, Any] | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it has reported that something is wrong."""
        return self.value is not None and self.value.get("outcome") in ("raises", "nan", "failed")

    def read(self) -> None:
        """Takes in what is new."""
        with contextlib.suppress(FileNotFoundError), open(self._path, "rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "output":
            *lines, self._line = (self._line + event["text"]).split("\n")
            for line in lines:
                self._say(f"rank {self._rank}: {line}\n")
        elif event["event"] == "ready":
            self.ready, self.torch = True, event["torch"]
        elif event["event"] == "report":
            self.value = event["report"]
        elif event["event"] == "fault":
            self.value = {"outcome": "failed", "error": {"type": "Probe", "message": event["traceback"]}}
