"""Facts of the books that a rule may speak about. Each carries its proof; a rule picks the words and the squiggle."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import ClassVar

from gradsense.machine.graph import Cut, Node, Refusal, Saved, Store, Tensor, Walk, Write
from gradsense.machine.place import Place, common_frame, in_one_cell
from gradsense.machine.values import Instance


@dataclass(eq=False, kw_only=True)
class Event:
    """Something that happened on one path.

    Attributes:
        place: where it surfaces: the line that torch's traceback would end on, or the line concerned.
        sure: whether every fact of its proof is known.
        raises: whether torch raises there.
        silent: whether torch says nothing and computes something else than the program means.
        ends: whether the path ends there if it surely does. What an old torch did instead may be followed.
        caught: an `except` of the program takes the error.
        assumed: found in a call that we assume a caller to make.
        rerun: happens only when a notebook's cell is run again.
        behind: an error that surely raises before the program gets here: this is what comes once that one is mended.
        certain: set after all paths were run: it happens on every path that gets there.
        also: other lines of the story that the proof passed through.
    """

    raises: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    ends: ClassVar[bool] = True

    place: Place
    sure: bool = True
    caught: bool = False
    certain: bool = True
    assumed: bool = False
    rerun: bool = False
    behind: Event | None = None
    also: list[tuple[Place, str]] = field(default_factory=list)

    @property
    def culprit(self) -> Place:
        """Where the person should edit, as far as the machine can tell."""
        return self.place

    @property
    def is_own_doing(self) -> bool:
        """Whether a cell that is run again fails on what it left behind itself, not on what another cell made once."""
        return False

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same fault met on another path."""
        return (type(self).__name__, self.culprit.key, self.place.key)


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
class NoGraph(Event):
    """A walk from something that has no graph."""

    raises = True

    tensor: Tensor
    cuts: tuple[Cut, ...]
    walk_kind: str
    spot: Place

    @property
    def culprit(self) -> Place:
        return self.spot

    @property
    def is_own_doing(self) -> bool:
        # What a cell freezes or detaches when it is done with it was meant to stay so.
        return bool(self.cuts) and self.cuts[-1].how == "no_grad" and in_one_cell(self.place, self.culprit)


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
class GraphLost(Event):
    """A value lost its graph and `requires_grad` hides it: no error, and no gradient.

    Attributes:
        how: `promoted` (`requires_grad_()` on a computed value) or `tensor` (`torch.tensor(…, requires_grad=True)`).
    """

    silent = True

    how: str
    cuts: tuple[Cut, ...] = ()
    tensor: Tensor | None = None


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
class GradOfNonLeaf(Event):
    """`.grad` of a tensor that is not a leaf is None; `raises` when the program then computes with it."""

    silent = True

    tensor: Tensor
    read: Place
    used: Place | None = None
    spot: Place | None = None

    @property
    def culprit(self) -> Place:
        return self.spot or self.read


@dataclass(eq=False, kw_only=True)
class GradOfNonLeafUsed(GradOfNonLeaf):
    """The None is computed with: TypeError or AttributeError."""

    raises = True
    silent = False

    @property
    def is_own_doing(self) -> bool:
        return in_one_cell(self.place, self.culprit)


@dataclass(eq=False, kw_only=True)
class GradientNone(Event):
    """The `.grad` of a leaf is computed with that no walk has filled, or that was set to None again.

    Attributes:
        read: where `.grad` was read.
        zeroed: where it was set to None, if a walk had filled it before.
    """

    raises = True

    tensor: Tensor
    read: Place
    zeroed: Place | None = None


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
class SavedRead(Event):
    """`grad_fn._saved_x` read after a walk freed it."""

    raises = True

    node: Node
    freed: Walk

    @property
    def culprit(self) -> Place:
        return common_frame(self.place, self.freed.place.stack)


@dataclass(eq=False, kw_only=True)
class GraphGrows(Event):
    """What one slot keeps alive grows with every pass of a loop.

    Attributes:
        store: the last store into the slot, in the loop.
        slot: `name`, `attribute`, `container`, `gradient`.
        loop: the loop.
        where: the loop, with its file and the calls that led to it.
        nodes_per_pass: how many nodes more each pass.
        walked: whether what is kept has been walked: then only nodes stay, else activations too.
        value: the newest tensor kept.
        kept: all tensors that the last pass added to the slot.
        short: the loop is a short one, whose end lets go of what was kept.
        evaluation: the call that built the graph, where no walk ever takes it.
        quiet: nothing is walked while the loop runs, and nothing that it makes is walked later.
    """

    store: Store
    slot: str
    loop: ast.AST
    where: Place
    nodes_per_pass: int
    walked: bool
    retained: bool
    value: Tensor | None
    kept: tuple[Tensor, ...] = ()
    short: bool = False
    evaluation: Place | None = None
    quiet: bool = False

    @property
    def culprit(self) -> Place:
        return self.store.place if self.walked or self.evaluation is None else self.evaluation


@dataclass(eq=False, kw_only=True)
class ForwardUnused(Event):
    """A network is called with grad mode on, and no walk ever takes what it returns.

    Attributes:
        needed: the lines, by file, on which something was made that is walked.
    """

    needed: set[tuple[str, int]] = field(default_factory=set)


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
class ConstantGradient(Event):
    """A gradient made without `create_graph=True` is a term of a loss: a constant, silently."""

    silent = True

    grad_call: Place
    walk: Walk

    @property
    def culprit(self) -> Place:
        return self.grad_call


@dataclass(eq=False, kw_only=True)
class StaleGradients(Event):
    """A step uses a contribution that an earlier step of the same optimizer used already."""

    silent = True

    walk: Walk
    step: Place


@dataclass(eq=False, kw_only=True)
class LeftoverGradients(Event):
    """A step uses, beside those of its own loss, gradients that another player's walk left in its parameters.

    Attributes:
        walk: the other player's walk, on which that player stepped.
        own: the walk of the step's own loss.
        step: the step that uses both.
        both: whether the gradients were zeroed in the same pass before both walks, of which the second is none of the
            other player's: it may be meant.
    """

    silent = True

    walk: Walk
    own: Walk
    step: Place
    both: bool = False


@dataclass(eq=False, kw_only=True)
class ScaledGradients(Event):
    """Gradients that a scaler has multiplied are used as they are.

    Attributes:
        how: `step` (an optimizer's own step) or `clip`.
    """

    silent = True

    walk: Walk
    how: str


@dataclass(eq=False, kw_only=True)
class ClippedInVain(Event):
    """Gradients are clipped where there are none, or behind the step that used them, in every pass.

    Attributes:
        step: the step that had used them, where it came before.
        walk: the walk that comes behind, where there were none.
        used_up: who took the parameters from the iterator before.
    """

    silent = True

    step: Place | None = None
    walk: Walk | None = None
    used_up: Place | None = None


@dataclass(eq=False, kw_only=True)
class GradientsDiscarded(Event):
    """All that a walk contributed is zeroed before any step used it.

    Attributes:
        idle: the step that follows finds no gradient at all.
        always: so it is in every pass of a loop, before a step of that pass.
        early: the step that stands before the walk in the same pass, and finds no gradient.
    """

    silent = True

    walk: Walk
    idle: bool = False
    always: bool = False
    early: Place | None = None

    @property
    def culprit(self) -> Place:
        return self.early or self.place


@dataclass(eq=False, kw_only=True)
class DeadTerm(Event):
    """A term of a walked loss moves nothing.

    Attributes:
        cut: where it lost its graph, or None where it has one but no optimizer steps what it reaches.
    """

    silent = True

    term: Tensor
    walk: Walk
    cut: Cut | None

    @property
    def culprit(self) -> Place:
        return self.cut.place if self.cut is not None else self.term.made


@dataclass(eq=False, kw_only=True)
class LossNeverWalked(Event):
    """A training loss that no walk takes in, or that is overwritten before one does."""

    silent = True

    loss: Tensor
    overwritten: Place | None = None


@dataclass(eq=False, kw_only=True)
class NeverReached(Event):
    """A parameter that an optimizer holds gets no gradient in any pass, and a value computed from it was cut off.

    Attributes:
        cut: where the graph that led to it ends.
        idle: none of the optimizer's parameters, or of the parameter's group, ever gets a gradient.
        straight: the cut is that of a straight-through estimator, which passes by what the parameter made.
        wanted: the program says elsewhere that a gradient should get there, so that the cut cannot be meant.
    """

    silent = True

    parameter: Tensor
    cut: Cut
    walk: Walk
    idle: bool = False
    straight: bool = False
    wanted: bool = False

    @property
    def culprit(self) -> Place:
        return self.cut.place


@dataclass(eq=False, kw_only=True)
class SampleCut(Event):
    """A loss trains what a sample was drawn from, and the sample in it passes no gradient on.

    Attributes:
        cut: where it was drawn.
    """

    silent = True

    cut: Cut
    walk: Walk

    @property
    def culprit(self) -> Place:
        return self.cut.place


@dataclass(eq=False, kw_only=True)
class NothingToStep(Event):
    """An optimizer's step, and no walk of the whole program gives one of its parameters a gradient.

    Attributes:
        optimizer: where the optimizer was made.
        walk: the last walk before the step.
        frozen: a tensor of it that does not require grad.
    """

    optimizer: Place
    walk: Walk
    frozen: Tensor | None = None

    @property
    def culprit(self) -> Place:
        return self.optimizer


@dataclass(eq=False, kw_only=True)
class NotOptimized(Event):
    """A parameter gets gradients and no optimizer steps it, although that of its module steps what is beside it.

    Attributes:
        how: `list` (a module holds its layer in a plain list, tuple or dictionary), `replaced` (the module was put in
            the place of another one after the optimizer was made), `rebound` (a variable that held the optimizer's
            module holds another one now), `tensor` (a tensor that is no `nn.Parameter`), `thawed` (it was made to
            require grad after the optimizer was made of what did), `late` (its module got it after the optimizer was
            made), `group` (it is in a group that no optimizer was given), `used up` (nobody has it, only what was
            computed from it) or `loose` (no module has it).
        optimizer: where the optimizer was made.
        walk: the walk that gave it a gradient.
    """

    parameter: Tensor
    how: str
    optimizer: Place
    walk: Walk


@dataclass(eq=False, kw_only=True)
class StaleValue(Event):
    """Computed from parameters before the loop and walked every pass, saving nothing: no error, never up to date."""

    silent = True

    node: Node
    walk: Walk
    spot: Place
    held: Tensor | None

    @property
    def culprit(self) -> Place:
        return self.spot


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
class RequiresGradOfNonLeaf(Event):
    """`requires_grad_(False)`, or `requires_grad = …`, on a computed tensor.

    Args:
        wanted: what it was to be.
    """

    raises = True

    tensor: Tensor
    wanted: bool


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
class InplaceAllowed(Event):
    """An in-place write to a tracked activation that torch allows.

    Attributes:
        maker: the node that made the tensor.
    """

    tensor: Tensor
    maker: Node


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
