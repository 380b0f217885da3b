"""One worker: a process in the user's interpreter, the private pipes to it, and its end."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any

from gradsense.run import killing
from gradsense.run.endings import crash, no_torch, out_of_time, probe_fault, unfit
from gradsense.run.guardian import GUARDIAN
from gradsense.run.jsonable import from_json
from gradsense.run.output import Output
from gradsense.run.report import Fault, Frame, Outcome, Pass, Report
from gradsense.run.spec import Spec

ENTRY = "gradsense.run.inside.main:run"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
START_LIMIT = 120.0
"""Seconds that an interpreter may take to import torch: the first time on a slow disk it takes long."""

START = os.path.join(PACKAGE, "run", "guest", "start.py")
_OWN = os.path.join(PACKAGE, "run", "")
_LAST_WORDS = 0.7
"""Seconds in which a worker that ran out of time may say where it is."""

_LEAVE = 3.0
"""Seconds in which a worker that has reported may end by itself, as programs do that have something to finish."""

_POLL = 0.1

Event = dict[str, Any]
Listener = Callable[[Event], None]


class Cancelled(Exception):
    """The run was cancelled; nothing of it is left."""


class WontStart(Exception):
    """The worker did not get as far as to take a spec; the message says why, and what to do."""


@dataclass(frozen=True)
class Launch:
    """How a worker is started.

    Args:
        python: the interpreter.
        env: all of its environment.
        cwd: its folder.
        entry: `module:function`, what runs a spec there.
    """

    python: str
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "."
    entry: str = ENTRY


@dataclass(frozen=True)
class Ready:
    """What a worker tells when it has imported torch: the version, and the files that it has loaded."""

    torch: str
    files: tuple[str, ...]


class Worker:
    """A process that runs one spec.

    The methods block, but for `cancel` and `close`, which any thread may call at any time.
    """

    def __init__(self, launch: Launch) -> None:
        """Starts it.

        Raises:
            WontStart: the interpreter cannot be executed, or the folder is none.
        """
        self.launch = launch
        self.mark = uuid.uuid4().hex
        self.output = Output()
        self._listener: Listener = _nobody
        self._items: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._ending = threading.Lock()
        self._cancelled = False
        self._ended = False
        self._status: int | None = None
        self._starting = threading.Lock()
        self._ready: Ready | None = None
        self._refusal: WontStart | None = None
        self._passes: list[Event] = []
        if not os.path.isdir(launch.cwd):
            raise WontStart(f"the working folder {launch.cwd} is not there; choose another with --cwd")
        try:
            self._process = subprocess.Popen(
                [launch.python, *self._arguments()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=launch.cwd,
                env={**launch.env, killing.MARK: self.mark},
                start_new_session=True,
                creationflags=_NEW_GROUP,
            )
        except OSError as error:
            reason = error.strerror or error
            raise WontStart(f"{launch.python} cannot be started: {reason}; choose another with --python") from None
        GUARDIAN.watch(self._process.pid, self.mark)
        self._readers = [
            threading.Thread(target=self._read_events, args=(opened(self._process.stdout),), daemon=True),
            threading.Thread(target=self._read_output, args=(opened(self._process.stderr),), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._ended and self._process.poll() is None

    def wait_ready(self, seconds: float = START_LIMIT) -> Ready:
        """Waits until it has imported torch.

        Raises:
            WontStart: it cannot, or takes longer than that.
            Cancelled: it was cancelled.
        """
        with self._starting:
            if self._refusal is not None:
                raise self._refusal
            if self._ready is None:
                try:
                    self._ready = self._started(seconds)
                except WontStart as refusal:
                    self._refusal = refusal
                    raise
            return self._ready

    def run(self, spec: Spec, seconds: float, listener: Listener | None = None) -> Report:
        """Runs a spec to its end, and ends the process.

        Args:
            spec: what is run.
            seconds: how long it may take.
            listener: told of every event, and of output as an event, from other threads.

        Raises:
            WontStart: it did not get as far.
            Cancelled: it was cancelled.
        """
        try:
            torch = self.wait_ready().torch
            self._listener = listener or _nobody
            if self.output.text:
                self._listener({"event": "output", "text": self.output.text})
            self._order({"run": spec.to_json()})
            return self._followed(spec, torch, seconds)
        finally:
            self.close()

    def cancel(self) -> None:
        """Ends it at once; whoever waits for it gets `Cancelled`."""
        self._cancelled = True
        self.close()

    def close(self) -> None:
        """Ends it with everything that it started, and reaps it."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            self._status = self._process.poll()
            killing.end(self.pid, self.mark, lambda: self._process.poll() is not None)
            self._process.wait()
            GUARDIAN.done(self.pid)
            with contextlib.suppress(OSError):
                opened(self._process.stdin).close()
        self._items.put(None)

    def _arguments(self) -> list[str]:
        return [START, PACKAGE, self.launch.entry]

    def _started(self, seconds: float) -> Ready:
        for event in self._events(time.monotonic() + seconds):
            if event["event"] == "no-torch":
                raise WontStart(no_torch(self.launch.python, event["error"], event["message"]))
            if event["event"] == "ready":
                return Ready(event["torch"], tuple(event["files"]))
        if self.alive:
            raise WontStart(f"{self.launch.python} did not import torch within {seconds:g} s")
        raise WontStart(unfit(self.launch.python, self._all_output()))

    def _followed(self, spec: Spec, torch: str, seconds: float) -> Report:
        deadline = time.monotonic() + seconds
        for event in self._events(deadline):
            if event["event"] == "report":
                return self._finished(event["report"], torch)
            if event["event"] == "fault":
                return self._partial("failed", probe_fault(event["error"], event["traceback"]), torch)
            if event["event"] == "pass":
                self._passes.append(event)
            self._listener(event)
        if time.monotonic() >= deadline and self.alive:
            return self._partial("timeout", out_of_time(spec, seconds, self._where()), torch)
        return self._partial("failed", self._crash(), torch)

    def _finished(self, value: Event, torch: str) -> Report:
        for event in self._events(time.monotonic() + _LEAVE):
            if event["event"] == "end":
                break
        return as_report(value, torch, self._all_output())

    def _partial(self, outcome: Outcome, fault: Fault, torch: str) -> Report:
        """A report where the worker did not come to make its own: with what it told on the way."""
        passes = []
        for event in self._passes:
            with contextlib.suppress(ValueError):
                passes.append(from_json(event, Pass))
        return Report(outcome, fault, passes=tuple(passes), torch=torch, output=self._all_output())

    def _all_output(self) -> str:
        """Ends the process, and gives what it printed to the last."""
        self.close()
        self._readers[1].join(_LEAVE)
        return self.output.text

    def _crash(self) -> Fault:
        output = self._all_output()
        return crash(self._status, output)

    def _where(self) -> list[Event]:
        """Asks the worker which line it is at; empty where it is too busy to say."""
        self._order({"where": True})
        for event in self._events(time.monotonic() + _LAST_WORDS):
            if event["event"] == "where":
                frames: list[Event] = event["frames"]
                return frames
        return []

    def _order(self, order: Event) -> None:
        # A worker that is gone is noticed where its events are read.
        with contextlib.suppress(OSError):
            stream = opened(self._process.stdin)
            stream.write(json.dumps(order).encode() + b"\n")
            stream.flush()

    def _events(self, deadline: float) -> Iterator[Event]:
        """The events to come, until the process has ended or the time is over.

        Raises:
            Cancelled: it was cancelled.
        """
        while True:
            try:
                item = self._items.get(timeout=max(0.0, min(_POLL, deadline - time.monotonic())))
            except queue.Empty:
                # The pipe may be held open by what the worker started.
                if not self.alive or time.monotonic() >= deadline:
                    break
                continue
            if item is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LEAVE)
                break
            if self._cancelled:
                break
            yield item
        while not (self._cancelled or self._items.empty()):
            item = self._items.get()
            if item is not None:
                yield item
        if self._cancelled:
            raise Cancelled

    def _read_events(self, stream: IO[bytes]) -> None:
        greeted = False
        with stream:
            for line in stream:
                event = _event(line)
                if event is None or not (greeted or event["event"] == "hello"):
                    # What the interpreter's start-up files print comes before the pipe is ours.
                    self._take_output(line.decode("utf-8", "replace"))
                    continue
                greeted = True
                if event["event"] == "output":
                    self._take_output(str(event.get("text", "")))
                else:
                    self._items.put(event)
        self._items.put(None)

    def _read_output(self, stream: IO[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        descriptor = stream.fileno()
        with stream:
            while data := os.read(descriptor, 65536):
                self._take_output(decoder.decode(data))
        self._take_output(decoder.decode(b"", final=True))

    def _take_output(self, text: str) -> None:
        if text:
            self.output.add(text)
            self._listener({"event": "output", "text": text})


_NEW_GROUP = 0x0000_0200 if sys.platform == "win32" else 0


def as_report(value: Event, torch: str, output: str) -> Report:
    """The report that a worker sent, without the frames of the code that started it."""
    try:
        report = Report.from_json(value)
    except ValueError as error:
        fault = Fault("Report", f"the probe's report cannot be read: {error}")
        return Report("failed", fault, torch=torch, output=output)
    return replace(
        report,
        output=output,
        torch=report.torch or torch,
        forward_traceback=_theirs(report.forward_traceback),
        backward_traceback=_theirs(report.backward_traceback),
    )


def _theirs(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    return tuple(frame for frame in frames if not frame.path.startswith(_OWN))


def _nobody(event: Event) -> None:
    """Listens to nothing."""


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def opened(stream: IO[bytes] | None) -> IO[bytes]:
    """A pipe that `subprocess` was asked to make."""
    assert stream is not None
    return stream
