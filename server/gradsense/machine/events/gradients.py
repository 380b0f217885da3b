"""Gradients that are lost, wrong or of no use."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Cut, Node, Tensor, Walk
from gradsense.machine.place import Place, in_one_cell


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
