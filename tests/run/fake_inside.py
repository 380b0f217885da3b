"""Stands in for the probe: does what the spec's text says, in the user's interpreter."""

from __future__ import annotations

import os


def run(spec, send):
    """Runs the text with `send` and `spec` at hand."""
    send({"event": "started", "device": "cpu"})
    os.chdir(spec["cwd"])
    scope = {"send": send, "spec": spec, "report": lambda **kept: send({"event": "report", "report": kept})}
    exec(compile(spec["text"], spec["path"], "exec"), scope)
    if spec["call"]:
        exec(spec["call"], scope)
