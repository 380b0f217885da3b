"""Writes in place, and what they reach."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Node, Saved, Store, Tensor, Walk, Write
from gradsense.machine.place import Place
from gradsense.machine.values import Instance


@dataclass(eq=False, kw_only=True)
class SavedModified(Event):
    """A walk finds a saved tensor at another version than it was saved with.

    Attributes:
        manner: `inplace`, `module`, `detach` (reached through a detached or other alias), `step`, `carried`
            (an optimizer's step between passes that a carried value links), `update` (a parameter written by hand),
            `outside_loop`.
        held: the tensor through which this walk came upon an older graph: one of an earlier pass, or one that an
            earlier walk went through already.
        stores: where that tensor was put.
        entry: the newer graph's node on top of it.
        version: the version of what was saved, when the walk came; None where a loop wrote it of which only the first
            passes were run.
    """

    raises = True

    manner: str
    node: Node
    saved: Saved
    write: Write
    walk: Walk
    spot: Place
    held: Tensor | None = None
    stores: list[Store] = field(default_factory=list)
    entry: Node | None = None
    version: int | None = 0

    @property
    def culprit(self) -> Place:
        return self.spot

    @property
    def is_own_doing(self) -> bool:
        return self.manner == "carried"


@dataclass(eq=False, kw_only=True)
class SilentlyModified(Event):
    """A saved tensor was written without a version bump: no error, a wrong gradient."""

    silent = True

    node: Node
    saved: Saved
    write: Write
    walk: Walk | None

    @property
    def culprit(self) -> Place:
        return self.write.place


@dataclass(eq=False, kw_only=True)
class InputOverwritten(Event):
    """A name is read whose tensor a module with `inplace=True` has written since: no error, and another value."""

    silent = True

    tensor: Tensor
    write: Write

    @property
    def culprit(self) -> Place:
        return self.write.module.made if self.write.module is not None else self.write.place


@dataclass(eq=False, kw_only=True)
class LeafWritten(Event):
    """An in-place write to a leaf that needs grad, or to a view of one.

    Attributes:
        module: the module with `inplace=True` that writes, if one does.
        late: a view made before its base got a graph, which torch takes for a leaf until it is used.
    """

    raises = True

    tensor: Tensor
    view: bool
    module: Instance | None = None
    late: bool = False


@dataclass(eq=False, kw_only=True)
class ViewWritten(Event):
    """An in-place write to a view that torch refuses.

    Attributes:
        why: `multi` (unbind, split, chunk), `no_grad`, `inference`, `hook` (a module with full backward hooks),
            `detach` (`detach_()` of a view), `expanded`.
        used: what was written is the base or another view, and torch refuses the next use of this one.
    """

    raises = True

    tensor: Tensor
    why: str
    spot: Place | None = None
    used: bool = False

    @property
    def culprit(self) -> Place:
        return self.spot or self.place


@dataclass(eq=False, kw_only=True)
class SharedWritten(Event):
    """A write to a part of an expanded tensor: no error, and all that shares its memory changes with it."""

    tensor: Tensor


@dataclass(eq=False, kw_only=True)
class OutWithGrad(Event):
    """`out=` with tensors that need grad."""

    raises = True


@dataclass(eq=False, kw_only=True)
class DirtyNotReturned(Event):
    """A custom Function marks an input dirty and returns another tensor."""

    raises = True

    marked: Place

    @property
    def culprit(self) -> Place:
        return self.marked


@dataclass(eq=False, kw_only=True)
class InplaceAllowed(Event):
    """An in-place write to a tracked activation that torch allows.

    Attributes:
        maker: the node that made the tensor.
    """

    tensor: Tensor
    maker: Node
