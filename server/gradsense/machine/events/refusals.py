"""Calls that torch refuses for a tensor's graph, its leaf or its mode."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.place import Place


@dataclass(eq=False, kw_only=True)
class InferenceTensorUsed(Event):
    """A tensor made in inference mode where autograd would have to keep it, write it or track it.

    Attributes:
        how: `saved` (for backward), `written` (in place, outside of that mode) or `tracked` (`requires_grad_()`).
        spot: what switched inference mode on.
    """

    raises = True

    tensor: Tensor
    how: str
    spot: Place

    @property
    def culprit(self) -> Place:
        return self.spot


@dataclass(eq=False, kw_only=True)
class NumpyOfGraph(Event):
    """`numpy()` of a tensor that needs grad."""

    raises = True

    tensor: Tensor
    spot: Place

    @property
    def culprit(self) -> Place:
        return self.spot


@dataclass(eq=False, kw_only=True)
class ScalarIndexed(Event):
    """`loss.data[0]`, although the tensor has no dimensions. Up to torch 0.3 this was its number."""

    raises = True
    ends = False

    tensor: Tensor
    has_graph: bool


@dataclass(eq=False, kw_only=True)
class DeepcopyOfGraph(Event):
    """`copy.deepcopy` of a tensor that is not a leaf.

    Attributes:
        spot: where the object that is copied got the tensor, or the copy.
        store: the attribute of that object, if it is known.
    """

    raises = True

    tensor: Tensor
    spot: Place
    store: Store | None = None

    @property
    def culprit(self) -> Place:
        return self.spot


@dataclass(eq=False, kw_only=True)
class HookRefused(Event):
    """`retain_grad()` (`how="retain_grad"`) or a hook (`how="hook"`) on a tensor that does not require grad."""

    raises = True

    tensor: Tensor
    how: str


@dataclass(eq=False, kw_only=True)
class NoDerivative(Event):
    """An argument needs grad for which the op has no derivative.

    Attributes:
        op: the op, as the table names it.
        argument: the argument's name.
    """

    raises = True

    tensor: Tensor
    op: str
    argument: str


@dataclass(eq=False, kw_only=True)
class NonLeafOptimized(Event):
    """An optimizer is made over a tensor that is not a leaf."""

    raises = True

    tensor: Tensor


@dataclass(eq=False, kw_only=True)
class RequiresGradOfNonLeaf(Event):
    """`requires_grad_(False)`, or `requires_grad = …`, on a computed tensor.

    Args:
        wanted: what it was to be.
    """

    raises = True

    tensor: Tensor
    wanted: bool
