"""Judges the passes of the program's loops."""

from __future__ import annotations

from typing import Any

from .loops import LoopRun, Loops

ORDER = ("none", "steady", "varying", "fragmentation", "grows")


class Judged:
    """A run of a loop with its verdict.

    Attributes:
        counts: the nodes alive after each pass, without those that were walked later.
        verdict: `grows`, `fragmentation`, `varying`, `steady`, or `none` where there are too few passes.
    """

    def __init__(self, run: LoopRun, loops: Loops) -> None:
        self.run = run
        later = loops.walked_after(run.measured[-1].end)
        self.later = later
        self.counts = [len(item.alive.nodes - later) for item in run.measured]
        self.walks = sum(item.walks > 0 for item in run.measured)
        self.verdict = self._judge()

    def rows(self) -> list[dict[str, Any]]:
        """The passes, as the report has them."""
        return [
            {
                "path": self.run.site.path,
                "line": self.run.site.line,
                "run": self.run.number,
                "pass": number,
                "nodes": count,
                "saved_tensors": item.saved_tensors,
                "saved_bytes": item.saved_bytes,
                "alive_bytes": item.alive.bytes,
                "allocated": item.alive.allocated,
                "reserved": item.alive.reserved,
            }
            for number, (count, item) in enumerate(zip(self.counts, self.run.measured), 1)
        ]

    def _judge(self) -> str:
        if len(self.counts) < 3:
            return "none"
        if _rising(self.counts):
            return "grows"
        if not self.walks:
            return "none"
        measured = self.run.measured[1:]  # the first pass makes what all others use
        reserved = [item.alive.reserved for item in measured]
        allocated = [item.alive.allocated for item in measured]
        if len(set(allocated)) == 1 and allocated[0] and _rising(reserved):
            return "fragmentation"
        sizes = [(count, item.saved_bytes) for count, item in zip(self.counts[1:], measured)]
        return "steady" if len(set(sizes)) == 1 else "varying"


def judge(loops: Loops, more_walks_follow: bool) -> list[Judged]:
    """All measured runs of loops that walk, or keep something after each pass: the one that decides first.

    Args:
        loops: the loops.
        more_walks_follow: whether the rest of the program, which did not run, may walk what such a loop keeps.
    """
    own = {(run.site.path, run.site.line) for run in loops.runs if not run.site.foreign}
    runs = [run for run in loops.runs if not run.site.foreign or (run.site.path, run.site.line) not in own]
    judged = [Judged(run, loops) for run in runs]
    walking = [item for item in judged if item.walks or (item.verdict == "grows" and not more_walks_follow)]
    walking.sort(key=lambda item: (-ORDER.index(item.verdict), item.run.number, -item.walks, -len(item.counts)))
    return walking


def verdict(judged: list[Judged]) -> str:
    """The worst of all verdicts."""
    return max((item.verdict for item in judged), key=ORDER.index, default="none")


def _rising(values: list[int]) -> bool:
    return all(before < after for before, after in zip(values, values[1:]))


def may_grow(run: LoopRun) -> bool:
    """Whether this run of a loop has kept more nodes after each pass, so far."""
    return len(run.measured) >= 3 and _rising([len(item.alive.nodes) for item in run.measured])


def kept_nodes(run: LoopRun) -> frozenset[int]:
    """Nodes of earlier passes of this run that are still alive."""
    now, before = run.measured[-1], run.measured[-2]
    return frozenset(tick for tick in now.alive.nodes & before.alive.nodes if tick >= run.begun)
