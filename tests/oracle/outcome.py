"""The answer of the oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["raises", "grows", "clean", "timeout"]


@dataclass(frozen=True)
class LoopGrowth:
    """Autograd nodes alive at the end of each pass of one run of one loop.

    Attributes:
        file: the file of the loop, relative to the program's folder.
        line: the line of its `for` or `while`.
        counts: nodes reachable from live tensors at the end of each pass, less those that are walked after the loop.
        walks: how many passes had a walk (a backward or a grad) in them.
        in_forward: the loop stands in a module's `forward` (or another method of that kind), where a growing graph is
            one pass of a network and no leak.
        grows: three passes or more, strictly rising counts, and not a loop that only builds one pass of a network.
    """

    file: str
    line: int
    counts: tuple[int, ...]
    walks: int
    in_forward: bool
    grows: bool


@dataclass(frozen=True)
class Outcome:
    """What happened to a program.

    Attributes:
        kind: `raises`, `grows` (ran to its end, and a loop keeps more nodes each pass), `clean`, or `timeout`.
        error_type: the exception's class name, empty unless it raised.
        message: the exception's text.
        line: the innermost line of the program's own files, where it raised.
        file: the file of that line.
        stack: all the program's own lines of the traceback, outermost first.
        growth: the counts of the loop that grew most, empty unless one did.
        loops: every run of every loop with three passes or more.
    """

    kind: Kind
    error_type: str = ""
    message: str = ""
    line: int | None = None
    file: str | None = None
    stack: tuple[tuple[str, int], ...] = ()
    growth: list[int] = field(default_factory=list)
    loops: tuple[LoopGrowth, ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        """Reads what the server wrote."""
        loops = tuple(LoopGrowth(**{**loop, "counts": tuple(loop["counts"])}) for loop in data.pop("loops", ()))
        stack = tuple((file, line) for file, line in data.pop("stack", ()))
        grown = [list(loop.counts) for loop in loops if loop.grows]
        growth = max(grown, key=lambda counts: counts[-1] - counts[0], default=[])
        if data["kind"] == "clean" and growth:
            data["kind"] = "grows"
        return cls(stack=stack, growth=growth, loops=loops, **data)
