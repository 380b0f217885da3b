"""The entry: runs one program under the probe and sends the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

Send = Callable[[dict[str, Any]], None]


def run(spec: dict[str, Any], send: Send) -> None:
    """Runs the user's program, and sends an event for each thing there is to tell.

    Events are dictionaries that JSON can hold: `started` (`torch`, `python`, `pid`), `output` (`stream`, `text`),
    `pass` (as a row of the report's `passes`), and at the end `report` with the report itself. It returns when the
    program has ended, and does not raise because of the program.

    Args:
        spec: `path`, `text`; and, each of them optional, `until_line`, `call`, `cells`, `module`, `argv`, `cwd`, `env`,
            `passes`, `batches`, `device`, `anomaly`, `check_nan`, `measure_cost`, `roots`, `predictions`, `time_limit`.
        send: is given the events, on the thread that runs the program.
    """
    os.environ.update(spec.get("env") or {})
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.dont_write_bytecode = True
    from .session import Session

    Session(spec, send).run()
