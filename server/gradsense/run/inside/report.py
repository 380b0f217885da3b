"""Puts together what a run has shown."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

import torch

from . import predictions
from .books import Write
from .faults import Story, outcome_of, plain_name, plain_operation, story_of
from .growth import Judged, judge, verdict
from .memory import gpu_in_use
from .places import Place
from .stores import Stores
from .walks import failure_of

if TYPE_CHECKING:
    from .probe import Probe


def make_report(probe: Probe) -> dict[str, Any]:
    """The report of a run, as the command line prints it in JSON."""
    error = probe.error
    failure = failure_of(error)
    judged = judge(probe.loops, probe.more_walks_follow)
    story = Story()
    outcome = "clean"
    if error is not None and not _went_well(error):
        outcome = "timeout" if probe.out_of_time else outcome_of(error, failure is not None)
        story = story_of(error, failure, probe.books, probe.places)
    worst = verdict(judged)
    if outcome == "clean" and worst == "grows":
        outcome = "grows"
    report: dict[str, Any] = {
        "outcome": outcome,
        "error": None if error is None or outcome in ("clean", "grows") else error_of(error),
        "walk": story.walk,
        "saved": story.saved,
        "written": story.written,
        "freed": story.freed,
        "passes": [row for item in judged for row in item.rows()],
        "verdict": worst,
        "holders": holders_of(judged, probe) if outcome == "grows" else [],
        "silent": silent_faults(probe),
        "loss": _losses(judged),
        "roots": probe.loops.roots,
        "device": device_in_use(),
        "torch": torch.__version__,
        "cost": probe.loops.timing.table() if probe.loops.timing is not None else None,
        "predictions": [],
        "forward_traceback": [place.frame() for place in story.forward],
        "backward_traceback": [place.frame() for place in story.backward],
        "output": "",
        "notes": probe.notes,
    }
    if probe.predictions is not None:
        report["predictions"] = predictions.judge(probe.predictions, report, probe.sites)
        if predictions.missed(report["predictions"], report):
            report["notes"].append(predictions.MISSED)
    return report


def silent_faults(probe: Probe) -> list[dict[str, Any]]:
    """Saved tensors that were written behind torch's back."""
    rows: list[dict[str, Any]] = []
    for fault in probe.engine.silent.faults:
        saved = probe.places.innermost(fault.saved)
        written = written_at(fault.write, probe)
        if saved is None or written is None:
            continue
        op, by = plain_name(fault.node), plain_operation(fault.write.op)
        what = f"`{op}` saved a tensor here; `{by}` on line {written.line} wrote it, and torch does not notice"
        walk = probe.places.innermost(fault.walk)
        row = {
            **saved.spot(),
            "what": f"{what}: the gradient is that of other values",
            "written": {**written.spot(), "op": by},
            "walk": walk.spot() if walk is not None else None,
        }
        if row not in rows:
            rows.append(row)
    for step, walk_stack in probe.optimizers.stale.faults:
        used, adds = probe.places.innermost(step), probe.places.innermost(walk_stack)
        if used is not None and adds is not None:
            what = f"this walk adds to gradients that the step on line {used.line} has used already"
            rows.append({**adds.spot(), "what": what, "written": None, "walk": adds.spot()})
    return rows


def written_at(write: Write, probe: Probe) -> Place | None:
    """Where a write was made; one through NumPy is seen only later, and looked for in the lines before."""
    place = probe.places.innermost(write.stack)
    before = probe.places.innermost(write.after) if write.after else None
    if place is None or before is None or (before.path, before.name) != (place.path, place.name):
        return place
    line = Stores(probe.sites).last_item_stored(place.path, before.line, place.line)
    return place if line is None else Place(place.path, line, place.name, True)


def holders_of(judged: list[Judged], probe: Probe) -> list[dict[str, Any]]:
    """By which names graphs of earlier passes are held, and the lines that stored them."""
    stores = Stores(probe.sites)
    rows: list[dict[str, Any]] = []
    for item in judged:
        if item.verdict != "grows":
            continue
        site = item.run.site
        holders = [holder for holder in item.run.holders if holder.kept - item.later]
        carrying = [holder for holder in holders if not stores.is_fresh(holder, site)]
        for holder in carrying or holders:
            made = probe.places.innermost(holder.made)
            where = made.spot() if made is not None else site.spot()
            if not holder.in_grad:
                where = stores.line_of(holder, site) or where
            if holder.defined is not None:
                where = dict(zip(("path", "line"), holder.defined))
            if any((row["path"], row["line"]) == (where["path"], where["line"]) for row in rows):
                continue  # the same one by another name
            row = {
                "name": holder.name,
                "path": where["path"],
                "line": where["line"],
                "kind": "container" if holder.element else holder.kind,
                "element": holder.element,
                "count": holder.count,
                "made": [place.spot() for place in probe.places.unfold(holder.made) if place.user],
                "text": linecache.getline(where["path"], where["line"]).strip(),
            }
            rows.append(row)
    return rows


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
