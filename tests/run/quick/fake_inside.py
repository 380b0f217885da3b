"""Stands in for the probe: does what the spec's text says, in the user's interpreter."""

from __future__ import annotations

import os
from typing import Any


def run(spec: dict[str, Any], send: Any) -> None:
    """Runs the text with `send`, `spec` and `report` at hand."""
    send({"event": "started"})
    os.chdir(spec["cwd"])

    def report(**kept: Any) -> None:
        send({"event": "report", "report": kept})

    scope = {"send": send, "spec": spec, "report": report, "__name__": "__main__"}
    exec(compile(spec["text"], spec["path"], "exec"), scope)
    if spec["call"]:
        eval(spec["call"], scope)
