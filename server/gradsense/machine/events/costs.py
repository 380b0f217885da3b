"""What costs time for nothing, or does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Tensor


@dataclass(eq=False, kw_only=True)
class DiscardedResult(Event):
    """An out-of-place method as a statement: its result is thrown away."""

    silent = True

    method: str
    tensor: Tensor | None = None


@dataclass(eq=False, kw_only=True)
class UselessMutation(Event):
    """A statement that looks like a change and is none: `x.requires_grad` … `optimizer.zero_grad` without a call.

    Attributes:
        instead: what to write in its place.
    """

    silent = True

    what: str
    instead: str = ""


@dataclass(eq=False, kw_only=True)
class AnomalyOn(Event):
    """Anomaly detection is switched on and stays on."""


@dataclass(eq=False, kw_only=True)
class SyncEachStep(Event):
    """`.item()` of a tensor on the GPU in every pass of a training loop."""

    tensor: Tensor


@dataclass(eq=False, kw_only=True)
class ReduceWithGraph(Event):
    """A collective on a tensor that has its graph."""

    tensor: Tensor
