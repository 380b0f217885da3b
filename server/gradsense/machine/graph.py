"""The books that autograd keeps: storages with versions, tensors, graph nodes, and walks.

The semantics follow torch 2.13 as measured on CPU: a storage counts its in-place writes, a node remembers the version
of what it saved, and a walk checks, uses and frees what the nodes saved.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradsense.machine.place import Epoch, Place
from gradsense.machine.tri import NO, Tri

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradsense.machine.ops.rows import Saves
    from gradsense.machine.values import Instance, Value

# So many cuts are remembered of one tensor.
MAX_CUTS = 6
# Cuts that are written to be cuts.
MEANT = frozenset(("detach", "detach_", "data", "no_grad", "grad"))

Shape = tuple[int | None, ...]
Strides = tuple[int, ...]


@dataclass(slots=True, eq=False)
class Write:
    """One in-place write to a storage.

    Args:
        kind: `inplace`, `activation` (a functional with `inplace=True`), `step` (an optimizer), `fused`, `max_norm`,
            `load`, `init`, `data`, `reduce`.
        through: `detach`, `data` or `numpy` where the writer reached the storage that way, else None.
        module: the `nn` module whose own code wrote, if any.
        sure: whether the write surely happens on this path.
        tensor: what was written to: the tensor itself, or a view or another alias of it.
    """

    place: Place
    order: int
    kind: str
    through: str | None
    module: Instance | None
    epoch: Epoch
    sure: bool
    tensor: Tensor | None = None


class Storage:
    """What tensors and their views share. Its version is the number of its writes."""

    __slots__ = ("module_write", "silent", "writes")

    def __init__(self) -> None:
        # The last write by a module with `inplace=True`.
        self.module_write: Write | None = None
        self.writes: list[Write] = []
        # Writes that torch does not count: `.data`, numpy aliases, fused optimizers.
        self.silent: list[Write] = []

    @property
    def version(self) -> int:
        """torch's version counter."""
        return len(self.writes)


@dataclass(slots=True, eq=False)
class Saved:
    """A tensor that a node keeps for backward, with the version it had."""

    tensor: Tensor
    version: int
    sure: bool
    storage: Storage = field(init=False)

    def __post_init__(self) -> None:
        # `x.data = y` gives the tensor other memory; what was saved keeps its own.
        self.storage = self.tensor.storage


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a value lost its graph: `detach`, `no_grad`, `argmax`, `item`, `torch.tensor`, …

    Args:
        lost: the tensors whose graph ends there.
    """

    how: str
    place: Place
    lost: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the backward of a custom Function cannot do.

    Args:
        how: `count` (it returns a wrong number of gradients), `missing` (there is none), `once` (it is differentiable
            once).
        name: the Function's name.
        wanted: how many gradients torch wants.
        given: how many there are.
        spare: how many of the arguments behind those need no gradient, if none of them does.
    """

    how: str
    place: Place
    name: str
    wanted: int = 0
    given: int = 0
    spare: int = 0


@dataclass(slots=True, eq=False)
class Store:
    """A place where a value was put.

    Args:
        kind: `name`, `attribute`, `item` (a container), `capture`.
        name: the variable or attribute as written.
        target: the syntax that receives the value.
        value: the syntax of the value stored, where there is one.
        container: the list, dict or object that holds it.
        what: the value stored: a tensor, or what holds it.
    """

    place: Place
    kind: str
    name: str
    value: ast.expr | None
    container: Value
    epoch: Epoch
    order: int
    what: Value = None


@dataclass(slots=True, eq=False)
class Walk:
    """One traversal of a graph by `backward` or `autograd.grad`.

    Args:
        kind: `backward`, `grad`, or `assumed` (a caller that we do not see).
        oldest: when the oldest node that it ran was made.
        partial: walks for some inputs only, or with a gradient that the caller gave: another walk may add more.
        scaled: its loss was multiplied by a gradient scaler.
    """

    place: Place
    order: int
    kind: str
    retain: bool
    create_graph: bool
    epoch: Epoch
    root: Tensor | None
    nodes: int = 0
    oldest: int = 0
    known: bool = True
    needed: bool = False
    partial: bool = False
    scaled: bool = False
    targets: set[Tensor] = field(default_factory=set)
    cuts: tuple[Cut, ...] = ()
    lost_leaves: set[Tensor] = field(default_factory=set)
    used_leaves: set[Tensor] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """One call of a network from outside of any network.

    Args:
        place: the call.
        first: the index of the first node that it could have made.
        tops: the nodes of its results.
    """

    place: Place
    first: int
    tops: tuple[Node, ...]


class Node:
    """One node of the graph.

    Attributes:
        parents: the nodes of its inputs, which a walk visits next.
        saved: the tensors it keeps for backward.
        private: whether it keeps something of its own (a mask, a clone), so that a second walk raises.
        perhaps: whether it keeps something in some calls and not in others, as things decide that we do not know.
        sure: whether all facts that made it are known.
        inputs: the tensors that it was computed from.
        freed: the walk that freed what it saved.
        refusal: what every walk through it raises.
        once: what every walk through its gradient raises.
        ancestry: a bit for every differentiable node from here to the leaves, so growth and reachability are one
            integer operation.
    """

    __slots__ = (
        "accumulates",
        "ancestry",
        "copies_slices",
        "epoch",
        "freed",
        "index",
        "inputs",
        "module",
        "once",
        "op",
        "order",
        "output",
        "parents",
        "perhaps",
        "place",
        "private",
        "recipe",
        "refusal",
        "saved",
        "sure",
        "walked",
    )

    def __init__(
        self,
        op: str,
        place: Place,
        order: int,
        index: int,
        parents: tuple[Node, ...],
        saved: list[Saved],
        private: bool,
        sure: bool,
        epoch: Epoch,
    ) -> None:
        self.op = op
        self.place = place
        self.order = order
        self.index = index
        self.parents = parents
        self.saved = saved
        self.private = private
        self.perhaps = False
        # Its output was written through a view of it.
        self.copies_slices = False
        self.sure = sure
        self.epoch = epoch
        self.freed: Walk | None = None
        self.walked: Walk | None = None
        self.output: Tensor | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.accumulates: Tensor | None = None
        self.module: Instance | None = None
        self.refusal: Refusal | None = None
        self.once: Refusal | None = None
        # What the op saves for the gradient of which argument, and its arguments.
        self.recipe: tuple[Mapping[str, Saves], dict[str, list[Tensor]]] | None = None
        self.ancestry: int = 1 << index
        for parent in parents:
            self.ancestry |= parent.ancestry

    def lead_to(self, parents: Iterable[Node | None]) -> None:
        """Has the walk go on to these only."""
        self.parents = tuple(dict.fromkeys(p for p in parents if p is not None))
        self.ancestry = 1 << self.index
        for parent in self.parents:
            self.ancestry |= parent.ancestry

    @property
    def raises_when_walked_twice(self) -> bool:
        """Whether it saved anything: a graph of nodes that save nothing can be walked again."""
        return self.private or self.perhaps or bool(self.saved)

    @property
    def surely_raises_when_walked_twice(self) -> bool:
        """Whether it surely saved something."""
        return self.private or any(s.sure for s in self.saved)

    def __repr__(self) -> str:
        return f"<{self.op}@{self.place.line}>"


@dataclass(slots=True, eq=False)
class Contribution:
    """What one walk put into one leaf's `.grad`, who used it, and where it was set to None or zero."""

    walk: Walk
    used: str | None = None
    optimizer: object = None
    zeroed: Place | None = None
    unscaled: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether it came from a loss that a scaler had multiplied, and was not divided again."""
        return self.walk.scaled and not self.unscaled


class Tensor:
    """An abstract tensor.

    Attributes:
        needs_grad: torch's `requires_grad`; ask `Books.needs_grad`, since a view follows its base.
        leaf: torch's `is_leaf`.
        base: the tensor this is a view of, never a view itself.
        rebased: how often an in-place op gave it a new node (views compare it with what they saw).
        view_kind: `multi` (unbind, split, chunk), `no_grad` or `inference` (a view made there), `hook`, or None.
        shape: the sizes, None for an unknown one; None where even their number is unknown.
        dtype: torch's name without the prefix, None if unknown.
        origin: `known`, or `unknown` where the value came from code that we did not see.
        through: `detach` or `data` where it shares its storage that way.
        inference_from: what switched inference mode on, where it was made in that mode.
        terms: the summands, where it is a sum; a loss is read as its terms.
    """

    __slots__ = (
        "accumulator",
        "base",
        "contiguous",
        "contributions",
        "cuts",
        "detached_by",
        "device",
        "dtype",
        "expanded",
        "frozen",
        "gradient",
        "gradient_from",
        "gradient_of",
        "has_gradient",
        "inference_from",
        "leaf",
        "made",
        "needs",
        "node",
        "origin",
        "parameter",
        "phantom",
        "promoted",
        "rebased",
        "retains_grad",
        "seen",
        "shape",
        "shared",
        "since",
        "spent",
        "storage",
        "stores",
        "strides",
        "terms",
        "through",
        "view_kind",
    )

    def __init__(
        self,
        made: Place,
        shape: Shape | None = None,
        dtype: str | None = "float32",
        needs: Tri = NO,
        storage: Storage | None = None,
    ) -> None:
        self.storage = storage or Storage()
        self.node: Node | None = None
        self.needs = needs
        self.leaf = True
        self.base: Tensor | None = None
        self.seen = 0
        # The version of its storage when the view was made or last written through.
        self.since = 0
        self.rebased = 0
        self.view_kind: str | None = None
        self.shape = shape
        self.dtype = dtype
        self.device: str | None = None
        self.made = made
        self.gradient: Tensor | None = None
        self.has_gradient = False
        self.gradient_of: Tensor | None = None
        # The leaf whose gradient this was computed from.
        self.gradient_from: Tensor | None = None
        self.cuts: tuple[Cut, ...] = ()
        self.parameter = False
        self.phantom = False
        self.stores: list[Store] = []
        self.accumulator: Node | None = None
        self.contiguous = True
        # Known for views only; a contiguous tensor has those of its size.
        self.strides: Strides | None = None
        self.expanded = False
        # The expanded tensor that this is a part of.
        self.shared: Tensor | None = None
        self.contributions: list[Contribution] = []
        self.spent: list[Contribution] = []
        self.retains_grad = False
        # Where `requires_grad_()` was called on a computed value.
        self.promoted: Place | None = None
        # Where a leaf stopped requiring grad.
        self.frozen: Place | None = None
        self.through: str | None = None
        self.inference_from: Place | None = None
        # `detach_()`: breaks every node that saved this very tensor as an input.
        self.detached_by: Write | None = None
        self.origin = "known"
        self.terms: tuple[Tensor, ...] = ()

    @property
    def floating(self) -> bool:
        """Whether its dtype can carry gradients (an unknown dtype is taken to)."""
        return self.dtype is None or self.dtype.startswith(("float", "bfloat", "complex", "half", "double"))

    @property
    def one_element(self) -> bool | None:
        """Whether it holds a single number, None if unknown."""
        if self.shape is None:
            return None
        if any(size is not None and size != 1 for size in self.shape):
            return False
        return None if None in self.shape else True

    @property
    def number_of_elements(self) -> int | None:
        """How many numbers it holds, None if unknown."""
        if self.shape is None:
            return None
        total = 1
        for size in self.shape:
            if size is None:
                return None
            total *= size
        return total

    def lose_with(self, others: Iterable[Tensor]) -> None:
        """Has the cuts of what chose its elements: an index or a mask that lost its graph passes none on either."""
        lost = [cut for tensor in others for cut in tensor.cuts]
        if self.needs is not NO:
            # What chose among elements that have a graph may be meant to be a constant, unless it cannot be else.
            lost = [cut for cut in lost if cut.how not in MEANT]
        if lost:
            self.cuts = (*lost, *(cut for cut in self.cuts if cut not in lost))[-MAX_CUTS:]

    def names(self) -> list[str]:
        """The variables and attributes it was stored under, newest last."""
        return [s.name for s in self.stores if s.name]

    def __repr__(self) -> str:
        return f"<tensor {self.names()[-1:] or ''} made at {self.made.line}>"
