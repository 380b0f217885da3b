"""Holds what was predicted without running against what happened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .cutting import Sites

RAISING = frozenset(
    "GS101 GS102 GS103 GS104 GS105 GS106 GS201 GS202 GS203 GS204 GS205 GS206 GS207 GS208 GS401 GS403 GS404 GS409 GS410"
    " GS412 GS413 GS414 GS415 GS416 GS417 GS418 GS420 GS423 GS424".split()
)
GROWING = frozenset("GS301 GS302 GS304 GS305".split())
STALE = "GS405"
SILENT = frozenset(("GS204", "GS205", "GS208", STALE))
MISSED = "What the run has shown was not predicted by the check without running."


def judge(predictions: Iterable[dict[str, Any]], report: dict[str, Any], sites: Sites) -> list[dict[str, Any]]:
    """The predictions, each with a verdict.

    `confirmed`: the run shows that story. `refuted`: its line ran, the run could have shown it, and did not.
    `not-reached`: its line did not run, or the run ended before. `not-observed`: a run cannot show such a thing, or the
    loop had too few passes to tell, or it happens only when a notebook's cell is run again.

    Args:
        predictions: what was predicted, with code, path and line; and, each of them optional, `related`, further lines
            of its story in that file, `rerun`, whether it happens only when a cell is run again, and `behind`, whether
            an error comes before it.
        report: what has happened.
        sites: which lines ran.
    """
    judged = [{**item, "verdict": _verdict(item, report, sites)} for item in predictions]
    first = [item for item in judged if not item.get("behind")]
    if any(item["verdict"] == "confirmed" for item in first):
        for item in judged:
            if item.get("behind") and report["outcome"] in ("raises", "nan"):
                # The line may have run, but what is told of it comes once the error is mended.
                item["verdict"] = "not-reached"
        return judged
    # The fault of a run is that of a story whose other lines it touched, where it touched no story's main line.
    for item in first:
        main = report["walk"] if item["code"] in RAISING else None
        here = sites.statement(main["path"], main["line"]) if main is not None else None
        related = [sites.statement(item["path"], line) for line in item.get("related") or ()]
        if report["outcome"] in ("raises", "nan") and here in related:
            item["verdict"] = "confirmed"
    return judged


def missed(judged: list[dict[str, Any]], report: dict[str, Any]) -> bool:
    """Whether there is a fault that no prediction spoke of."""
    at_fault = report["outcome"] in ("raises", "nan", "grows") or bool(report["silent"])
    return at_fault and not any(item["verdict"] == "confirmed" for item in judged)


def _verdict(prediction: dict[str, Any], report: dict[str, Any], sites: Sites) -> str:
    code = prediction["code"]
    here = sites.statement(prediction["path"], prediction["line"])
    at = {sites.statement(place["path"], place["line"]) for place in _places(code, report)}
    if here in at:
        return "confirmed"
    if not sites.knows(prediction["path"]) or not sites.reached(prediction["path"], prediction["line"]):
        return "not-reached"
    if code in GROWING:
        loops = {(row["path"], row["line"]) for row in report["passes"]}
        inside = any(sites.loop_covers(loop, prediction["path"], prediction["line"]) for loop in loops)
        steady = report["verdict"] in ("steady", "varying", "fragmentation")
        return "refuted" if inside and steady and report["outcome"] == "clean" else "not-observed"
    if (code not in RAISING and code not in SILENT) or prediction.get("rerun"):
        return "not-observed"
    return "refuted" if report["outcome"] in ("clean", "grows") else "not-reached"


def _places(code: str, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of the stories that such a prediction may have told."""
    places: list[Any] = []
    if code in RAISING and report["outcome"] in ("raises", "nan"):
        places += [report["walk"], report["saved"], report["freed"], *report["written"]]
        frames = report["forward_traceback"] + report["backward_traceback"]
        places += [frame for frame in frames if frame["user"]]
    if code in GROWING and report["outcome"] == "grows":
        places += [place for holder in report["holders"] for place in (holder, *holder["made"])]
    if code in SILENT:
        for fault in report["silent"]:
            places += [fault, fault["written"], fault["walk"]]
    return [place for place in places if place is not None]
