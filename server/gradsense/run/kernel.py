"""A run in the kernel of a notebook: the code that is to be executed there, and the report that comes back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradsense.run.guest import cell
from gradsense.run.report import Fault, Report

REPORT = cell.REPORT
PASS = cell.PASS
_ELSEWHERE = "the kernel runs on another machine, which has no GradSense; run the step in a fresh process instead"
# `exec` leaves no name behind in the kernel, and shows nothing.
_CODE = """\
import os, runpy
if os.path.exists(PROGRAM):
    runpy.run_path(PROGRAM, {"SPEC": SPEC})
else:
    from IPython.display import display
    display({KIND: {"outcome": "failed", "error": {"type": "FileNotFoundError", "message": ELSEWHERE}}}, raw=True)
"""


def code_for(spec: Mapping[str, Any]) -> str:
    """What a kernel executes to run a cell.

    Its outputs of the kind `PASS` tell of each pass, and that of the kind `REPORT` holds the report.

    Args:
        spec: see `run.inside.kernel.run_cell`.
    """
    names = {
        "PROGRAM": str(Path(cell.__file__).resolve()),
        "SPEC": json.dumps(dict(spec)),
        "KIND": REPORT,
        "ELSEWHERE": _ELSEWHERE,
    }
    return f"exec({_CODE!r}, {names!r})"


def report_from(text: object) -> Report:
    """Reads the JSON of a report that came back; one that does not fit says so itself."""
    if not isinstance(text, str):
        return Report("failed", Fault("NoReport", "the kernel was interrupted or ended before the step was over"))
    try:
        value = json.loads(text)
        losses = [math.nan if loss is None else loss for loss in value.get("loss") or ()]
        return Report.from_json({**value, "loss": losses})
    except (ValueError, AttributeError) as error:
        return Report("failed", Fault("ValueError", f"the report of the kernel could not be read: {error}"))
