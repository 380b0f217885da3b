"""What walks come to: graphs that are gone, kept or refused."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Node, Refusal, Store, Tensor, Walk
from gradsense.machine.place import Place, common_frame


@dataclass(eq=False, kw_only=True)
class WalkedTwice(Event):
    """A walk reaches a node whose saved tensors an earlier walk freed.

    Attributes:
        manner: `same` (the same root again), `carried` (from an earlier pass, through a value that outlived it),
            `outside_loop` (made before the loop), `shared` (several losses over one forward),
            `player` (the shared part belongs to another optimizer's network).
        node: the first node met that was freed.
        meeting: the newest freed node on the way, whose output the new graph was built on.
        entry: the new graph's node on top of it, or None where the root itself was freed.
        held: the tensor that carried the old graph.
        stores: where that tensor was put.
        use: for `player`, the call that should have had a detached argument: in the first walk's graph, or with
            `again` in this one's.
        stepped: whether an optimizer has moved parameters under the shared part since the first walk.
    """

    raises = True

    manner: str
    node: Node
    first: Walk
    walk: Walk
    meeting: Node
    entry: Node | None
    held: Tensor | None
    stores: list[Store]
    spot: Place
    use: Place | None = None
    again: bool = False
    stepped: bool = False

    @property
    def culprit(self) -> Place:
        return self.spot

    @property
    def is_own_doing(self) -> bool:
        return self.manner == "carried"


@dataclass(eq=False, kw_only=True)
class NotScalar(Event):
    """An implicit walk from a tensor of more than one element."""

    raises = True

    tensor: Tensor
    spot: Place

    @property
    def culprit(self) -> Place:
        return self.spot


@dataclass(eq=False, kw_only=True)
class SavedRead(Event):
    """`grad_fn._saved_x` read after a walk freed it."""

    raises = True

    node: Node
    freed: Walk

    @property
    def culprit(self) -> Place:
        return common_frame(self.place, self.freed.place.stack)


@dataclass(eq=False, kw_only=True)
class RetainedWalk(Event):
    """`retain_graph=True`.

    Attributes:
        needed: a later walk went through what was retained.
        hides: where a value was carried into a later pass, whose walk goes on into this graph.
        redundant: `create_graph=True` stands beside it.
    """

    call: Place
    needed: bool
    hides: Place | None = None
    redundant: bool = False


@dataclass(eq=False, kw_only=True)
class CreateGraphBackward(Event):
    """`backward(create_graph=True)`: `.grad` holds graphs.

    Attributes:
        made: the node of the gradients' graph, which a later walk may go through.
    """

    made: Node | None = None


@dataclass(eq=False, kw_only=True)
class InputNotInGraph(Event):
    """An input of a walk that torch refuses.

    Attributes:
        why: `no_grad` (one of `autograd.grad` that does not need grad), `backward` (one of `backward(inputs=…)` that
            does not), `unused` (one of `autograd.grad` that is no part of the graph).
    """

    raises = True

    tensor: Tensor
    why: str


@dataclass(eq=False, kw_only=True)
class ReentrantWalked(Event):
    """`autograd.grad`, or `backward(inputs=…)`, walks through a checkpoint with `use_reentrant=True`."""

    raises = True

    checkpoint: Place

    @property
    def culprit(self) -> Place:
        return self.checkpoint


@dataclass(eq=False, kw_only=True)
class BackwardRefused(Event):
    """A walk comes through a custom Function whose backward cannot do what is asked of it.

    Attributes:
        applied: where the Function was applied, or its gradient was made.
    """

    raises = True

    refusal: Refusal
    applied: Place
    walk: Walk

    @property
    def culprit(self) -> Place:
        return self.refusal.place


@dataclass(eq=False, kw_only=True)
class WastedWalk(Event):
    """A walk goes through another network whose gradients are all zeroed unused (an undetached fake).

    Attributes:
        use: the call that takes the network's output.
        asked: a gradient of that output is asked for as well, so detaching is not enough.
    """

    walk: Walk
    use: Place
    asked: bool = False

    @property
    def culprit(self) -> Place:
        return self.use
