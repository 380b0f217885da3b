"""Making tensors and nodes, views and in-place writes: the part of autograd that runs in the forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from gradsense.machine import strides
from gradsense.machine.events import Event, InferenceTensorUsed, LeafWritten, SharedWritten, ViewWritten
from gradsense.machine.graph import MAX_CUTS, Cut, Node, Saved, Shape, Storage, Store, Strides, Tensor, Write
from gradsense.machine.limits import MOST_ERRORS
from gradsense.machine.place import Epoch, Place
from gradsense.machine.trail import Trail
from gradsense.machine.tri import MAYBE, NO, YES, Tri, any_of
from gradsense.machine.values import Instance
from gradsense.syntax.source import Source

# They write a tensor whose elements share memory without a complaint, or with a warning.
LENIENT = frozenset("fill zero masked_fill index_put index_fill tril triu fill_diagonal threshold".split())
# Ops whose gradient is zero wherever it is defined: the graph goes on, and nothing flows through it.
ZERO_GRADIENT = frozenset("round floor ceil trunc fix sign sgn heaviside normal bernoulli poisson".split())


class PathEnds(Exception):
    """The program raises here: nothing after it runs on this path."""

    def __init__(self, event: Event) -> None:
        super().__init__(type(event).__name__)
        self.event = event


# A saved tensor of an op that is being recorded: a tensor, or the index of an output.
SavedSpec = tuple[Tensor | int, bool]


class Books:
    """Autograd's books for one path through a program.

    Attributes:
        node: the syntax being run, for places.
        grad_mode: whether operations are recorded.
        assumed: inside a walk that we assume a caller to make: only sure events count.
    """

    def __init__(self, source: Source, root: ast.AST) -> None:
        self.source = source
        self.node: ast.AST = root
        self.stack: tuple[Place, ...] = ()
        self.epoch: Epoch = ()
        self.grad_mode: Tri = YES
        self.inference = False
        # What switched recording off: a `with`, a decorator, a call.
        self.mode_place: Place | None = None
        self.autocast = False
        self.order = 0
        self.node_count = 0
        self.events: list[Event] = []
        # Nodes whose value was taken on without its graph.
        self.cut_nodes: list[Node] = []
        self.module: Instance | None = None
        self.assumed = False
        self.catching = 0
        # Inside the forward of a module, at any depth.
        self.forward_depth = 0
        self.trail = Trail()

    def spend(self, visits: int) -> None:
        """Counts nodes and values that were looked at.

        Raises:
            OutOfBudget: when the path took too long.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------ places and events
    def here(self, node: ast.AST | None = None) -> Place:
        """The place of `node`, or of what is being run."""
        return Place(self.source, node or self.node, self.stack)

    def tick(self) -> int:
        """The next moment."""
        self.order += 1
        return self.order

    rerunning = False
    # Whether a path goes on behind an error as if that were mended, and the first that it went past.
    passes_errors = False
    passed: Event | None = None
    errors_passed = 0

    def is_passed_by(self, error: Event) -> bool:
        """Whether the path goes on behind an error as if it were mended."""
        return self.passes_errors and not error.caught and self.errors_passed < MOST_ERRORS

    def report(self, event: Event) -> None:
        """Notes an event; ends the path where it surely raises.

        Raises:
            PathEnds: if the event raises, is sure, and nothing can follow.
        """
        event.rerun = self.rerunning
        event.behind = self.passed
        self.trail.note(event.key)
        if event.raises:
            if self.assumed:
                if not event.sure:
                    return
                event.assumed = True
            event.caught = self.catching > 0
            key = event.key
            if not any(known.key == key for known in self.events[-40:]):
                self.events.append(event)
                self.errors_passed += event.sure and self.is_passed_by(event)
            if event.sure and event.ends:
                if self.is_passed_by(event):
                    self.passed = self.passed or event
                raise PathEnds(event)
        else:
            self.events.append(event)

    # ------------------------------------------------------------------ tensors and nodes

    def tensor(
        self,
        shape: Shape | None = None,
        dtype: str | None = "float32",
        needs: Tri = NO,
        storage: Storage | None = None,
    ) -> Tensor:
        """A new tensor made here, a leaf until an op says otherwise."""
        made = Tensor(self.here(), shape, dtype, needs, storage)
        if self.inference:
            made.inference_from = self.mode_place or made.made
        return made

    def record_node(
        self,
        op: str,
        parents: Iterable[Node | None],
        saved: list[Saved],
        private: bool,
        sure: bool,
        place: Place | None = None,
    ) -> Node:
        """A new node of the graph."""
        self.node_count += 1
        unique = tuple(dict.fromkeys([p for p in parents if p is not None]))
        node = Node(op, place or self.here(), self.tick(), self.node_count, unique, saved, private, sure, self.epoch)
        node.module = self.module
        if self.trail.kept:
            self.trail.note(op, id(self.node), len(saved), sure, *[parent.index for parent in unique])
        return node

    def accumulator(self, leaf: Tensor) -> Node:
        """The node that adds into the leaf's `.grad`."""
        if leaf.accumulator is None:
            node = Node("AccumulateGrad", leaf.made, self.tick(), 0, (), [], False, leaf.needs is YES, self.epoch)
            node.ancestry = 0
            node.accumulates = leaf
            node.output = leaf
            leaf.accumulator = node
        return leaf.accumulator

    def edge(self, tensor: Tensor) -> Node | None:
        """The node that a consumer of the tensor points at, or None if it needs no grad."""
        if self.needs_grad(tensor) is NO:
            return None
        if tensor.leaf:
            return self.accumulator(tensor)
        return tensor.node

    def needs_grad(self, tensor: Tensor) -> Tri:
        """torch's `requires_grad`, after a view has caught up with its base."""
        base = tensor.base
        if base is not None and base.rebased != tensor.seen:
            tensor.seen = base.rebased
            if base.needs is not NO:
                if tensor.floating:
                    tensor.needs = base.needs
                tensor.leaf = False
                tensor.node = self.record_node("view", (self.edge(base),), [], False, True, tensor.made)
                tensor.node.output = tensor
        return tensor.needs

    def graph_of(self, tensor: Tensor) -> Node | None:
        """torch's `grad_fn`."""
        self.needs_grad(tensor)
        return tensor.node

    def record(
        self,
        op: str,
        inputs: Sequence[Tensor],
        saved: Sequence[SavedSpec] = (),
        *,
        private: bool = False,
        perhaps: bool = False,
        shape: Shape | None = None,
        shapes: Sequence[Shape | None] | None = None,
        dtype: str | None = "float32",
        differentiable: Sequence[bool] = (True,),
        sure: bool = True,
    ) -> list[Tensor]:
        """Runs a differentiable op: new tensors, and a node if one input needs grad.

        Args:
            inputs: the tensors that a gradient can flow to.
            saved: what the node keeps: a tensor, or the index of an output, and whether that is sure.
            private: whether it keeps something that no one else can write to (a mask, a clone).
            perhaps: whether it may keep something, which is not known.
            shapes: the shapes of several outputs; `shape` is that of the first.
            differentiable: one entry an output: whether it can carry a gradient.
            sure: whether the op's behaviour is known.
        """
        needs = NO
        cut_off = unknown = False
        source: Tensor | None = None
        for tensor in inputs:
            if tensor.view_kind is not None:
                self.check_stale_view(tensor)
            wants = self.needs_grad(tensor)
            if wants is not NO and needs is not YES:
                needs = wants
            cut_off = cut_off or bool(tensor.cuts)
            unknown = unknown or tensor.origin == "unknown"
            source = source or tensor.gradient_from or tensor.gradient_of
        if self.inference or self.grad_mode is NO:
            recorded = NO
        elif self.grad_mode is MAYBE and needs is not NO:
            recorded = MAYBE
        else:
            recorded = needs
        if self.autocast and dtype is not None and dtype.startswith("float"):
            dtype = None
        place = self.here()
        device = inputs[0].device if inputs else None
        outputs: list[Tensor] = []
        for index, can in enumerate(differentiable):
            output_shape = shapes[index] if shapes is not None else shape if index == 0 else None
            output = Tensor(place, output_shape, dtype if can else "int64", recorded if can else NO)
            if self.inference:
                output.inference_from = self.mode_place or place
            output.device = device
            output.gradient_from = source
            outputs.append(output)
        cuts: tuple[Cut, ...] = ()
        if cut_off:
            cuts = merge_cuts(inherited_cuts(t) for t in (inputs if needs is not NO else reversed(inputs)))
        if needs is NO:
            frozen = next((t for t in inputs if t.frozen is not None), None)
            if frozen is not None and frozen.frozen is not None:
                cuts = merge_cuts([cuts, (Cut("requires_grad_(False)", frozen.frozen, (frozen,)),)])
        if cuts and self.grad_mode is NO:
            # An update by hand is made of gradients on purpose.
            cuts = tuple(c for c in cuts if c.how != "grad")
        if recorded is not NO:
            kept: list[Saved] = []
            for what, sure_saved in saved:
                if isinstance(what, int):
                    if what >= len(outputs):
                        private = True
                        continue
                    what = outputs[what]
                kept.append(Saved(what, what.storage.version, sure_saved and sure))
            for saved_tensor in kept:
                if saved_tensor.tensor.inference_from is not None:
                    self.check_inference(saved_tensor.tensor, "saved", saved_tensor.sure and recorded is YES)
            node = self.record_node(op, [self.edge(t) for t in inputs], kept, private, recorded is YES and sure, place)
            node.perhaps = perhaps
            node.inputs = tuple(inputs)
            node.output = outputs[0]
            for output in outputs:
                if output.needs is not NO:
                    output.node = node
                    output.leaf = False
        if needs is not NO and (recorded is NO or not all(differentiable)):
            ended = tuple(t for t in inputs if t.needs is not NO)
            cut = self.no_grad_cut(ended) if recorded is NO else Cut(op, self.here(), ended)
            lost = (*cuts, cut)[-MAX_CUTS:]
            for output in outputs:
                output.cuts = lost if output.needs is NO else cuts
        elif cuts or op in ZERO_GRADIENT:
            if op in ZERO_GRADIENT and needs is not NO:
                cuts = (*cuts, Cut(op, self.here(), tuple(inputs)))[-MAX_CUTS:]
            for output in outputs:
                output.cuts = cuts
        if unknown and recorded is not YES:
            for output in outputs:
                output.origin = "unknown"
        return outputs

    def check_inference(self, tensor: Tensor, how: str, sure: bool = True) -> None:
        """Reports a use of an inference tensor that torch refuses outside of inference mode.

        Raises:
            PathEnds: if it surely raises.
        """
        spot = tensor.inference_from
        if spot is not None and not self.inference and tensor.origin == "known":
            self.report(InferenceTensorUsed(place=self.here(), sure=sure, tensor=tensor, how=how, spot=spot))

    def check_stale_view(self, tensor: Tensor, used: bool = True) -> None:
        """Reports the use of a view that cannot follow its base, once that was written: torch asks for its node anew.

        Args:
            used: whether it is surely used here.

        Raises:
            PathEnds: if it surely raises.
        """
        base, why = tensor.base, tensor.view_kind
        if base is None or why is None or why in ("hook", "custom") or tensor.since == tensor.storage.version:
            return
        if self.grad_mode is NO or self.inference or tensor.inference_from is not None:
            return
        if base.phantom or base.origin == "unknown" or tensor.origin == "unknown":
            return
        needs = any_of((base.needs, YES if tensor.node is not None else NO))
        if needs is NO or not tensor.floating:
            return
        write = tensor.storage.writes[tensor.since]
        event = ViewWritten(
            place=self.here(),
            sure=used and needs is YES and self.grad_mode is YES and write.sure,
            tensor=tensor,
            why=why,
            spot=write.place,
            used=True,
        )
        self.report(event)

    def no_grad_cut(self, lost: tuple[Tensor, ...]) -> Cut:
        """The cut of an op that is not recorded, at what switched recording off."""
        return Cut("no_grad", self.mode_place or self.here(), lost)

    def constant(
        self, op: str, inputs: Iterable[Tensor], shape: Shape | None = None, dtype: str | None = "int64"
    ) -> Tensor:
        """The result of an op that no gradient flows through: `argmax`, a comparison, `round` to an integer."""
        inputs = list(inputs)
        result = self.tensor(shape, dtype)
        cuts = merge_cuts(t.cuts for t in inputs)
        if any(self.needs_grad(t) is not NO for t in inputs):
            ended = tuple(t for t in inputs if t.needs is not NO)
            cuts = (*cuts, Cut(op, self.here(), ended))[-MAX_CUTS:]
        result.cuts = cuts
        if any(t.origin == "unknown" for t in inputs):
            result.origin = "unknown"
        return result

    # ------------------------------------------------------------------ views and aliases

    def view(
        self,
        tensor: Tensor,
        op: str,
        shape: Shape | None = None,
        *,
        kind: str | None = None,
        contiguous: bool | None = None,
        expanded: bool = False,
        layout: Strides | None = None,
    ) -> Tensor:
        """A view: the same storage, and a node that saves nothing.

        Args:
            kind: why torch refuses to write it, where it does.
            contiguous: whether it is contiguous, None for as its base is; `layout` knows better.
            expanded: whether it may have several elements in one place; `layout` knows better.
            layout: its strides, where they are known.
        """
        self.check_stale_view(tensor)
        needs = self.needs_grad(tensor)
        result = self.tensor(shape, tensor.dtype, NO, tensor.storage)
        if layout is not None and shape is not None and len(layout) == len(shape):
            result.strides = layout
            result.contiguous = strides.is_packed(shape, layout)
            result.expanded = strides.overlap(shape, layout)
            result.shared = tensor if tensor.expanded else tensor.shared
        else:
            result.contiguous = tensor.contiguous if contiguous is None else contiguous
            result.expanded = expanded or tensor.expanded
        result.through = tensor.through
        result.cuts = tensor.cuts
        result.origin = tensor.origin
        result.gradient_of = tensor.gradient_of
        result.gradient_from = tensor.gradient_from
        result.device = tensor.device
        # A view of a normal tensor is a normal one, wherever it is made.
        result.inference_from = tensor.inference_from
        base = tensor.base if tensor.base is not None else tensor
        result.base = base
        result.seen = base.rebased
        result.since = tensor.storage.version
        if kind is not None or tensor.view_kind is not None:
            result.view_kind = kind or tensor.view_kind
        if self.inference or self.grad_mode is NO:
            result.view_kind = "inference" if self.inference else "no_grad"
            if needs is not NO and tensor.inference_from is None:
                # It says that it needs grad as its base does, and is a leaf to what follows: no gradient arrives.
                result.needs = needs
                result.cuts = (*tensor.cuts, self.no_grad_cut((tensor,)))[-MAX_CUTS:]
            return result
        if needs is NO:
            return result
        result.needs = needs if self.grad_mode is YES else MAYBE
        result.leaf = False
        result.node = self.record_node(op, (self.edge(tensor),), [], False, result.needs is YES)
        result.node.output = result
        result.node.inputs = (tensor,)
        return result

    def detached(self, tensor: Tensor, how: str = "detach") -> Tensor:
        """`x.detach()` or `x.data`: the same storage, no graph."""
        result = self.tensor(tensor.shape, tensor.dtype, NO, tensor.storage)
        result.contiguous, result.strides, result.expanded = tensor.contiguous, tensor.strides, tensor.expanded
        # A gradient that is detached by hand is meant to be a constant.
        result.cuts = tuple(c for c in tensor.cuts if c.how != "grad") if how == "detach" else tensor.cuts
        result.origin = "known" if tensor.origin == "known" else "unknown"
        result.device = tensor.device
        if self.needs_grad(tensor) is not NO:
            result.cuts = (*tensor.cuts, Cut(how, self.here(), (tensor,)))[-MAX_CUTS:]
            if tensor.node is not None:
                self.cut_nodes.append(tensor.node)
                self.trail.note("cut", tensor.node.index)
        result.inference_from = tensor.inference_from
        result.through = how if how != "detach" or tensor.through is None else tensor.through
        result.gradient_of = tensor.gradient_of
        return result

    # ------------------------------------------------------------------ writes

    def mark_write(self, tensor: Tensor, kind: str = "inplace", *, sure: bool = True) -> Write:
        """Bumps the storage's version, or notes a write that torch does not count."""
        storage = tensor.storage
        self.trail.note("write", kind, id(self.node), len(storage.writes))
        write = Write(self.here(), self.tick(), kind, tensor.through, self.module, self.epoch, sure, tensor)
        if kind in ("fused", "data") or tensor.through in ("data", "numpy"):
            storage.silent.append(write)
        else:
            storage.writes.append(write)
            if self.module is not None and kind != "max_norm":
                storage.module_write = write
        return write

    def check_late_view(self, tensor: Tensor) -> None:
        """Reports a write to a view whose base got a graph since, before any op looked at the view.

        Raises:
            PathEnds: if torch surely refuses the write.
        """
        base = tensor.base
        if base is None or tensor.view_kind is not None or not tensor.leaf or tensor.seen == base.rebased:
            return
        if self.grad_mode is NO or self.inference or base.leaf or base.origin == "unknown" or not tensor.floating:
            return
        if base.needs is not NO:
            sure = base.needs is YES and self.grad_mode is YES and base.node is not None and base.node.sure
            event = LeafWritten(place=self.here(), sure=sure, tensor=tensor, view=False, module=self.module, late=True)
            event.also = [(base.node.place, "its base got a graph here")] if base.node is not None else []
            self.report(event)

    def check_in_place(self, tensor: Tensor, needs: Tri, name: str = "") -> None:
        """Reports a write that torch refuses at once.

        Args:
            needs: whether the result would need grad.
            name: the op that writes.

        Raises:
            PathEnds: if it surely raises.
        """
        self.check_inference(tensor, "written")
        self.check_stale_view(tensor)
        self._check_tracked(tensor, needs)
        known = tensor.strides is not None and tensor.origin == "known"
        if tensor.expanded and known and name not in LENIENT:
            self.report(ViewWritten(place=self.here(), tensor=tensor, why="expanded"))
        elif tensor.shared is not None or (tensor.expanded and known):
            self.report(SharedWritten(place=self.here(), tensor=tensor))

    def _check_tracked(self, tensor: Tensor, needs: Tri) -> None:
        """Reports a write that would have to be recorded and cannot be."""
        if tensor.view_kind in ("no_grad", "inference") and tensor.base is not None:
            needs = any_of((needs, self.needs_grad(tensor.base)))
        if self.grad_mode is NO or needs is NO or tensor.origin == "unknown" or tensor.phantom:
            return
        sure = needs is YES and self.grad_mode is YES
        base = tensor.base
        if base is None:
            if tensor.leaf and self.needs_grad(tensor) is not NO:
                sure = sure and tensor.needs is YES
                self.report(LeafWritten(place=self.here(), sure=sure, tensor=tensor, view=False, module=self.module))
            return
        if tensor.view_kind is not None:
            if base.phantom or base.origin == "unknown":
                return
            spot = self.module.made if self.module is not None and tensor.view_kind == "hook" else None
            self.report(ViewWritten(place=self.here(), sure=sure, tensor=tensor, why=tensor.view_kind, spot=spot))
        elif base.leaf and base.base is None and self.needs_grad(base) is YES and not base.phantom:
            self.report(LeafWritten(place=self.here(), sure=sure, tensor=tensor, view=True, module=self.module))
        elif tensor.expanded and tensor.strides is None:
            self.report(ViewWritten(place=self.here(), sure=False, tensor=tensor, why="expanded"))

    def rebase(
        self, tensor: Tensor, op: str, parents: Iterable[Node | None], saved: list[Saved], private: bool, sure: bool
    ) -> None:
        """Gives a written tensor its new node; a written view gives one to its base (CopySlices) as well."""
        base = tensor.base
        needs = YES if sure else MAYBE
        held = base or tensor
        if held.stores and held.stores[-1].kind != "item":
            last = held.stores[-1]
            store = Store(self.here(), last.kind, last.name, None, last.container, self.epoch, self.tick())
            held.stores = [*held.stores[-7:], store]
        if base is None:
            node = self.record_node(op, parents, saved, private, sure)
            node.output = tensor
            tensor.node = node
            tensor.needs = needs if tensor.needs is not YES else YES
            tensor.leaf = False
            tensor.rebased += 1
            return
        # CopySlices keeps what it needs to replay the view: a second walk always raises.
        node = self.record_node(op, [self.edge(base), *parents], saved, True, sure)
        node.output = base
        node.copies_slices = True
        base.node = node
        base.needs = needs if base.needs is not YES else YES
        base.leaf = False
        base.rebased += 1
        tensor.seen = base.rebased
        tensor.needs = base.needs
        tensor.leaf = False
        tensor.node = self.record_node("view", (node,), [], False, True)
        tensor.node.output = tensor


def inherited_cuts(tensor: Tensor) -> tuple[Cut, ...]:
    """The cuts that what is computed from the tensor has, too.

    A gradient that became a leaf by `requires_grad_()` was meant to be a constant of what follows.
    """
    if tensor.promoted is None:
        return tensor.cuts
    return tuple(c for c in tensor.cuts if c.how != "grad")


def merge_cuts(groups: Iterable[tuple[Cut, ...]]) -> tuple[Cut, ...]:
    """The cuts of several inputs, oldest dropped: the last one counts."""
    merged: tuple[Cut, ...] = ()
    for group in groups:
        if group:
            merged += tuple(c for c in group if c not in merged)
    return merged[-MAX_CUTS:]
