"""Puts together what a run has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .faults import Story, outcome_of, story_of
from .growth import Judged, judge, verdict
from .memory import gpu_in_use
from .walks import failure_of

if TYPE_CHECKING:
    from .probe import Probe


def make_report(probe: Probe) -> dict[str, Any]:
    """The report of a run, as the command line prints it in JSON."""
    error = probe.error
    failure = failure_of(error)
    judged = judge(probe.loops)
    story = Story()
    outcome = "clean"
    if error is not None and not _went_well(error):
        outcome = outcome_of(error, failure is not None)
        story = story_of(error, failure, probe.books, probe.places)
    worst = verdict(judged)
    if outcome == "clean" and worst == "grows":
        outcome = "grows"
    return {
        "outcome": outcome,
        "error": None if error is None or outcome in ("clean", "grows") else error_of(error),
        "walk": story.walk,
        "saved": story.saved,
        "written": story.written,
        "freed": story.freed,
        "passes": [row for item in judged for row in item.rows()],
        "verdict": worst,
        "holders": [],
        "silent": [],
        "loss": _losses(judged),
        "device": device_in_use(),
        "torch": torch.__version__,
        "cost": None,
        "predictions": [],
        "forward_traceback": [place.frame() for place in story.forward],
        "backward_traceback": [place.frame() for place in story.backward],
        "output": "",
        "notes": probe.notes,
    }


def error_of(error: BaseException) -> dict[str, str]:
    """Type and text of an exception."""
    return {"type": type(error).__name__, "message": str(error)}


def device_in_use() -> str:
    """The device that the run has used: a GPU if it touched one."""
    if gpu_in_use():
        index = torch.cuda.current_device()
        free, total = torch.cuda.mem_get_info(index)
        return f"cuda:{index} ({torch.cuda.get_device_name(index)}, {free >> 20} of {total >> 20} MiB free)"
    return "cpu"


def _went_well(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _losses(judged: list[Judged]) -> list[float]:
    for item in judged:
        losses: list[float | None] = [entry.loss for entry in item.run.measured]
        if any(loss is not None for loss in losses):
            return [loss for loss in losses if loss is not None]
    return []
