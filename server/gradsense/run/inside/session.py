"""One run of a program under the probe, in a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from .devices import choose
from .limits import TimeLimit
from .probe import Probe, only_new_objects
from .program import Program
from .streams import Output, Streams

Send = Callable[[dict[str, Any]], None]


class Session:
    """A run.

    Args:
        spec: what the host asks for, see `main.run`.
        send: is given the events.
    """

    def __init__(self, spec: dict[str, Any], send: Send) -> None:
        self.spec, self._send = spec, send
        self._pid = os.getpid()

    def send(self, event: dict[str, Any]) -> None:
        """Sends an event, unless this is a process that the program has forked."""
        if os.getpid() == self._pid:
            self._send(event)

    def run(self) -> None:
        """Runs the program and sends the report."""
        spec = self.spec
        self.send({"event": "started", "torch": torch.__version__, "python": sys.version.split()[0], "pid": self._pid})
        program = Program(spec)
        output = Output(self.send)
        probe = Probe(
            files=[program.path],
            roots=program.roots,
            passes=spec.get("passes", 3),
            batches=spec.get("batches", 3),
            check_nan=spec.get("anomaly", True) and spec.get("check_nan", True),
            predictions=spec.get("predictions"),
            measure_cost=spec.get("measure_cost", False),
            send=self.send,
        )
        choose(spec.get("device") or "auto", program.text, probe.notes)
        sys.breakpointhook = lambda *_, **__: probe.notes.append("breakpoints were passed over")
        limit = TimeLimit(spec.get("time_limit"))
        with Streams(output), program.in_place(), only_new_objects():
            try:
                with limit, probe:
                    program.run(probe)
            except BaseException as error:
                probe.error = error
            if os.getpid() != self._pid:  # the program has forked, and the child has come to its end
                sys.stdout.flush()
                os._exit(0)
            probe.out_of_time = limit.passed
            report = probe.report()
        report["output"] = output.text()
        self.send({"event": "report", "report": report})
