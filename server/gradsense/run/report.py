"""What a run found out: the report, as JSON for machines and as typed objects for us.

The first keys are a published format (`gradsense run --output-format json`) and stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gradsense.run.jsonable import from_json

Outcome = Literal["raises", "grows", "nan", "clean", "failed", "timeout"]

FAULTS: frozenset[Outcome] = frozenset({"raises", "grows", "nan"})
"""Outcomes that say something is wrong with the step; `failed` and `timeout` say that it could not be told."""


@dataclass(frozen=True)
class Fault:
    """An exception: the name of its type, and its text."""

    type: str
    message: str


@dataclass(frozen=True)
class Spot:
    """A line of the story.

    Args:
        path: the file.
        line: its line, from 1; of a notebook, the line of the joined cells.
        op: the operation that ran there, where that is known.
        name: the variable that holds the tensor, where that is known.
    """

    path: str
    line: int
    op: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Pass:
    """One pass of a loop, or one walk: what it left behind.

    Args:
        line: the line that it ended on.
        nodes: autograd nodes that are still alive.
        saved_tensors, saved_bytes: what was saved for the walk.
        alive_bytes: bytes of tensors that are alive after it.
        allocated, reserved: bytes of GPU memory, where there is one.
    """

    line: int
    nodes: int | None = None
    saved_tensors: int | None = None
    saved_bytes: int | None = None
    alive_bytes: int | None = None
    allocated: int | None = None
    reserved: int | None = None


@dataclass(frozen=True)
class Holder:
    """What keeps a graph alive: a variable, attribute or place in a container, and the line that stored it."""

    name: str
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Cost:
    """Seconds a pass: plain, under anomaly mode, under the probe; None where not measured."""

    plain: float | None = None
    anomaly: float | None = None
    probe: float | None = None


@dataclass(frozen=True)
class Prediction:
    """What became of a finding of the static check: `confirmed`, `not-reached` or `refuted`."""

    code: str
    line: int
    verdict: str
    path: str | None = None


@dataclass(frozen=True)
class Frame:
    """A line of a traceback; `user` tells the user's files from those of torch and Python."""

    path: str
    line: int
    name: str = ""
    text: str = ""
    user: bool = True


@dataclass(frozen=True)
class Silent:
    """A wrong gradient that torch does not notice: where the tensor was needed, what happened, and where it was
    written."""

    path: str
    line: int
    what: str
    written: Spot | None = None


@dataclass(frozen=True)
class FixTried:
    """What trying a fix on a copy showed.

    Args:
        code, title: the finding, and the fix.
        clean: whether the step is clean with it.
        same_loss: whether the losses of the first passes are the same as before; None where there are none to compare.
        loss_before: the losses without it.
    """

    code: str
    title: str
    clean: bool
    same_loss: bool | None = None
    loss_before: tuple[float, ...] = ()


@dataclass(frozen=True)
class Report:
    """All that one run found out.

    Args:
        outcome: what became of the step.
        error: the exception, where it ended with one, or what went wrong with the run itself.
        walk: the user's line where the exception surfaced.
        saved: the line whose operation saved the tensor.
        written: the lines that wrote to it afterwards.
        freed: the line of the walk that freed what this one needed.
        passes: what each pass left behind.
        holders: what keeps the graph alive.
        device: where it ran, such as `cpu` or `cuda:0 (NVIDIA T4, 14.2 GiB free)`.
        torch: the version.
        cost: seconds a pass.
        predictions: what became of the findings of the static check.
        forward_traceback: the stack of the forward operation that is to blame, outermost first.
        backward_traceback: the stack of the exception, likewise.
        silent: wrong gradients that torch does not notice.
        verdict: how memory went: `steady`, `grows`, `fragmentation`, `varying` or `none`.
        output: what the step printed, cut where it was too much.
        loss: the losses of the first passes.
        roots: what the first walks began from, one by one; not part of the published object.
        notes: what else a person should know.
        fix: what became of a fix that was tried.
        ranks: of a distributed run, the report of each rank.
    """

    outcome: Outcome
    error: Fault | None = None
    walk: Spot | None = None
    saved: Spot | None = None
    written: tuple[Spot, ...] = ()
    freed: Spot | None = None
    passes: tuple[Pass, ...] = ()
    holders: tuple[Holder, ...] = ()
    device: str = ""
    torch: str = ""
    cost: Cost | None = None
    predictions: tuple[Prediction, ...] = ()
    forward_traceback: tuple[Frame, ...] = ()
    backward_traceback: tuple[Frame, ...] = ()
    silent: tuple[Silent, ...] = ()
    verdict: str = "none"
    output: str = ""
    loss: tuple[float, ...] = ()
    roots: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    fix: FixTried | None = None
    ranks: tuple[Report, ...] = field(default=())

    @property
    def is_clean(self) -> bool:
        """Whether the step ran to its end and nothing is wrong with it, not even silently."""
        return self.outcome == "clean" and not self.silent

    def to_json(self) -> dict[str, Any]:
        """The published object. Numbers that JSON lacks (NaN, infinity) become null."""
        value = asdict(self)
        if self.walk is not None:
            value["walk"] = {"path": self.walk.path, "line": self.walk.line}
        del value["roots"]
        if self.fix is None:
            del value["fix"]
        if not self.ranks:
            del value["ranks"]
        else:
            value["ranks"] = [rank.to_json() for rank in self.ranks]
        result: dict[str, Any] = _finite(value)
        return result

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Report:
        """Reads a worker's report.

        Raises:
            ValueError: it does not fit.
        """
        return from_json(value, cls)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
