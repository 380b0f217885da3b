"""Walking a graph: checking, using and freeing what its nodes saved, and what that puts into `.grad`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradsense.machine import story
from gradsense.machine.as_if_mended import mended
from gradsense.machine.books import ZERO_GRADIENT, Books, PathEnds, merge_cuts
from gradsense.machine.events import (
    BackwardRefused,
    CreateGraphBackward,
    DeadTerm,
    GraphLost,
    NoGraph,
    NotScalar,
    ReentrantWalked,
    SilentlyModified,
    StaleValue,
)
from gradsense.machine.graph import Contribution, Cut, Node, Refusal, Saved, Store, Tensor, Walk, Write
from gradsense.machine.graph_search import reachable, reachable_surely, reachable_without
from gradsense.machine.place import Epoch, Place, PlaceKey
from gradsense.machine.tri import MAYBE, NO, YES
from gradsense.machine.values import Instance, Optimizer
from gradsense.syntax.source import Source

# What cuts a graph on purpose as a rule, most often first: another cut in the same loss is rather the mistake.
MEANT_CUTS = ("requires_grad_(False)", "sample")


# Ops that keep something of their own which no gradient flows through.
LINEAR = frozenset(
    """dropout mul div scale scatter index gather masked_fill where getitem embedding custom copy_ fill_ zero_ add_
    sub_ mul_ div_""".split()
)
# Ops that look at what they saved only to choose where the gradient goes: a second derivative of them is none.
CHOOSING = frozenset(
    """clamp clamp_min clamp_max clip max min amax amin median nanmedian sort topk msort maximum minimum fmax fmin where
    masked_fill cummax cummin kthvalue fmod remainder nan_to_num aminmax hinge_embedding_loss margin_ranking_loss
    clamp_ clip_ masked_fill_ fmod_ remainder_""".split()
)

# One node of ours that is several of torch's: those with its gates run before those that look at its input.
SEVERAL_NODES = frozenset("lstm_cell grucell rnncell gru rnn attention".split())
# Of so many gradients that are computed together each one's own part is followed.
MOST_GRADIENTS = 8
# The op of a gradient scaler.
SCALE = "scale"
# The node of a checkpoint that runs its function again with a walk of its own.
REENTRANT = "reentrant checkpoint"


@dataclass(slots=True)
class Clips:
    """The calls on one line that clip gradients.

    Args:
        place: the last of them.
        calls: how many.
        early: how many found no gradient.
        late: how many found only gradients that a step had used.
        step: that step.
    """

    place: Place
    calls: int = 0
    early: int = 0
    late: int = 0
    step: Place | None = None


class Walking(Books):
    """The backward half of the books."""

    def __init__(self, source: Source, root: ast.AST) -> None:
        super().__init__(source, root)
        self.walks: list[Walk] = []
        # Something may have been walked that is not seen: a graph that is not known, or code that is not.
        self.unseen_walks = False
        # Unseen code has a parameter, a module or a function of the program, and may walk or step what it likes.
        self.handed_on = False
        # Lines with a walk, a step or a module call that this path came to.
        self.reached: set[tuple[str, int]] = set()
        # Loops of which only the first passes were run.
        self.shortened: set[int] = set()
        # The functions of the program that this path called.
        self.called: set[ast.AST] = set()
        self.optimizers: list[Optimizer] = []
        self.steps: list[tuple[Optimizer, Place, int]] = []
        # Steps that found no gradient in any parameter.
        self.idle_steps: list[tuple[Optimizer, int, Place, Epoch]] = []
        # Walks that kept a graph into which a later pass walked: the walk, and a node of that graph.
        self.hidden: dict[tuple[object, ...], tuple[Walk, Node]] = {}

        self.step_epochs: set[Epoch] = set()
        # Walks whose contributions were zeroed: (walk, loop pass differs) -> (unused, used, place of the zeroing).
        self.zeroed: dict[tuple[int, bool], tuple[Walk, list[int], Place, int]] = {}
        # Walked losses with a term that is a gradient without a graph, and the walk that made such a gradient.
        self.constant_gradients: list[tuple[Walk, Cut]] = []
        self.grad_walks: dict[int, Walk] = {}
        self.dead_terms: list[tuple[Tensor, Walk, list[Tensor]]] = []
        # Terms of walked losses that were computed without recording.
        self.constant_terms: list[tuple[Tensor, Walk, Cut]] = []
        # Steps that used what two walks had left, between which another optimizer stepped on the first.
        self.leftovers: list[tuple[Walk, Walk, Optimizer, Place, bool]] = []
        # Nodes whose gradients a hook gets.
        self.hooked: set[Node] = set()
        # The modules whose hooks a walk calls at a node.
        self.called_back: dict[Node, Instance] = {}
        # When gradients were zeroed last, and in which passes, by the ids of their leaves.
        self.last_zeroing: dict[int, tuple[int, Epoch]] = {}
        # Calls that clip gradients, by place: how many, how many found none, how many found only used ones.
        self.clips: dict[PlaceKey, Clips] = {}

    def walk(
        self,
        roots: Sequence[Tensor],
        *,
        retain: bool,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
        kind: str = "backward",
        given_gradient: bool = False,
    ) -> list[Node] | None:
        """Walks from `roots` and frees, unless retained, what was reached.

        Args:
            inputs: walk only what lies on a path to these.
            kind: `backward`, `grad` or `assumed`.
            given_gradient: whether the caller gave the gradient of the roots.

        Returns:
            The nodes that ran, newest first; None if there was nothing to walk.

        Raises:
            PathEnds: if torch surely raises.
        """
        self.mark_reached()
        walked_roots = [r for r in roots if self._can_walk(r, kind, given_gradient)]
        if not walked_roots:
            return None
        walk = Walk(self.here(), self.tick(), kind, retain, create_graph, self.epoch, walked_roots[0])
        walk.targets = set(inputs or ())
        walk.cuts = merge_cuts(r.cuts for r in walked_roots)
        walk.partial = inputs is not None or given_gradient
        walk.scaled = any(r.node is not None and r.node.op == SCALE for r in walked_roots)
        self.walks.append(walk)
        self.trail.note(
            kind, id(self.node), retain, create_graph, *[root.node.index for root in walked_roots if root.node]
        )
        while True:
            order, running, surely = self._reach(walk, walked_roots, inputs)
            try:
                self._run_all(running, walk, walked_roots, surely)
                break
            except PathEnds as end:
                if not (self.is_passed_by(end.event) and mended(end.event, order)):
                    raise
        self._check_stale(running, walk)
        for node in running:
            if not retain:
                node.freed = node.freed or walk
            node.walked = walk
        if kind == "backward":
            self._contribute(walk, walked_roots, order, inputs)
        self._gradients_as_constants(walk, walked_roots, kind)
        return running

    def _reach(
        self, walk: Walk, roots: list[Tensor], inputs: Sequence[Tensor] | None
    ) -> tuple[list[Node], list[Node], set[Node]]:
        """What a walk comes to, newest first: all nodes, those that run, and which of all it surely comes to."""
        edges = [self.edge(t) for t in roots]
        reached = reachable(edges)
        surely = reachable_surely(edges)
        self.spend(4 * len(reached))
        walk.known = len(surely) == len(reached)
        self.unseen_walks = self.unseen_walks or not walk.known or bool(walk.cuts)
        order = sorted(reached, key=lambda n: -n.order)
        running = order if inputs is None else self._needed_for(order, inputs)
        walk.nodes = len(running)
        walk.oldest = min((n.order for n in running if n.accumulates is None), default=walk.order)
        return order, running, surely

    def _run_all(self, running: list[Node], walk: Walk, roots: list[Tensor], surely: set[Node]) -> None:
        """The nodes of a walk, in order.

        Raises:
            PathEnds: if torch surely raises.
        """
        for position, node in enumerate(running):
            try:
                self._run(node, walk, roots, node in surely)
            except PathEnds as end:
                # What ran before the error is freed: the program may catch it and go on.
                inside = node.op in SEVERAL_NODES
                frees = not (walk.retain or self.is_passed_by(end.event))
                for done in running[: position + inside] if frees else ():
                    done.freed = done.freed or walk
                raise

    def _run(self, node: Node, walk: Walk, roots: list[Tensor], surely: bool) -> None:
        """One node of a walk.

        Raises:
            PathEnds: if torch surely raises.
        """
        if node.freed is not None and node.raises_when_walked_twice:
            sure = surely and node.surely_raises_when_walked_twice
            event = story.walked_twice(self, node, walk, roots, sure)
            if event is not None:
                self.report(event)
            return
        if node.walked is not None and node.walked is not walk and node.raises_when_walked_twice:
            node.walked.needed = True
            self._note_hidden_carry(node, walk)
        if node.op == REENTRANT and (walk.kind == "grad" or walk.targets):
            self.report(ReentrantWalked(place=walk.place, sure=surely, checkpoint=node.place))
        self._check_saved(node, walk, surely)
        if node.refusal is not None:
            sure = surely and node.sure
            self.report(
                BackwardRefused(place=walk.place, sure=sure, refusal=node.refusal, walk=walk, applied=node.place)
            )

    def note_hook(self, tensor: Tensor) -> None:
        """Notes that a hook gets the gradient of a tensor."""
        node = self.edge(tensor)
        if node is not None:
            self.hooked.add(node)

    def read_by_hooks(self, walk: Walk) -> bool:
        """Whether a walk brings a hook its gradient: then it is not for the steps alone."""
        if not self.hooked or walk.root is None:
            return False
        return not self.hooked.isdisjoint(self.below([self.edge(walk.root)]))

    def below(self, roots: Iterable[Node | None]) -> dict[Node, None]:
        """All nodes from the roots down, the roots included, counted as work."""
        found = reachable(roots)
        self.spend(len(found))
        return found

    def mark_reached(self) -> None:
        """Notes that the path came to this line."""
        self.reached.add((self.source.path, getattr(self.node, "lineno", 0)))

    def _can_walk(self, root: Tensor, kind: str, given_gradient: bool) -> bool:
        if self.needs_grad(root) is NO:
            if root.origin == "unknown":
                return False
            spot = self.here()
            cuts = tuple(sorted(root.cuts, key=self._blame))
            if cuts:
                spot = cuts[-1].place
            self.report(NoGraph(place=self.here(), sure=True, tensor=root, cuts=cuts, walk_kind=kind, spot=spot))
            return False
        if root.one_element is False and not given_gradient:
            self.report(NotScalar(place=self.here(), tensor=root, spot=story.vector_made(self, root)))
        return True

    def _blame(self, cut: Cut) -> int:
        """How likely it is that a cut was not meant: most of all where it froze what an optimizer steps."""
        if cut.how not in MEANT_CUTS:
            return len(MEANT_CUTS)
        frozen = cut.how != "sample" and any(t in o.parameters for t in cut.lost for o in self.optimizers)
        return len(MEANT_CUTS) + 1 if frozen else MEANT_CUTS.index(cut.how)

    def _needed_for(self, order: list[Node], inputs: Sequence[Tensor]) -> list[Node]:
        """The nodes on a path to `inputs`; an input's own node runs only if it leads to another input."""
        targets = {e for t in inputs if (e := self.edge(t)) is not None}
        leads: set[Node] = set()
        for node in reversed(order):
            if node in targets or any(p in leads for p in node.parents):
                leads.add(node)
        return [n for n in order if n in leads and (n not in targets or any(p in leads for p in n.parents))]

    def mark_detached(self) -> Write:
        """Notes a `detach_()` here."""
        return Write(self.here(), self.tick(), "detach_", None, self.module, self.epoch, True)

    def _check_saved(self, node: Node, walk: Walk, surely: bool) -> None:
        for saved in node.saved:
            storage = saved.storage
            by = saved.tensor.detached_by
            if by is not None and by.order > node.order and saved.tensor is not node.output:
                self.report(story.saved_modified(self, node, saved, by, walk, surely and saved.sure))
                continue
            if storage.version > saved.version:
                if saved.tensor.view_kind is not None and saved.tensor is not node.output:
                    # To unpack a view asks for its node, which comes before a look at versions.
                    self.check_stale_view(saved.tensor, used=saved.sure and surely)
                write = storage.writes[saved.version]
                sure = surely and saved.sure and write.sure
                self.report(story.saved_modified(self, node, saved, write, walk, sure))
            elif storage.silent:
                later = next((w for w in storage.silent if w.order > node.order), None)
                if later is not None and surely and saved.sure and later.sure:
                    self.report(SilentlyModified(place=walk.place, node=node, saved=saved, write=later, walk=walk))

    def _note_hidden_carry(self, node: Node, walk: Walk) -> None:
        """A walk goes on into an earlier pass, which it can only because the walk there kept its graph."""
        earlier = node.walked
        if earlier is None or not earlier.retain or not earlier.kind == walk.kind == "backward" or not node.sure:
            return
        if story.made_in_earlier_pass(node.epoch, self.epoch):
            self.hidden.setdefault(earlier.place.key, (earlier, node))

    def _check_stale(self, running: list[Node], walk: Walk) -> None:
        """A node made before the loop that saves nothing can be walked again, but holds what the parameters were."""
        if not self.epoch or walk.kind != "backward":
            return
        for node in running:
            before = node.walked
            if before is None or before is walk or node.raises_when_walked_twice or node.accumulates is not None:
                continue
            if not story.made_outside(node.epoch, self.epoch) or node.op in story.FOLLOWING or not node.sure:
                continue
            leaves = [p.accumulates for p in self.below([node]) if p.accumulates is not None]
            if any(w.kind == "step" and node.order < w.order for t in leaves for w in t.storage.writes):
                held = node.output
                spot = story.holder(node, list(held.stores) if held is not None else [], self.epoch)
                self.report(StaleValue(place=walk.place, node=node, walk=walk, spot=spot, held=held))
                return

    # ------------------------------------------------------------------ gradients

    def _contribute(
        self, walk: Walk, roots: Sequence[Tensor], order: list[Node], inputs: Sequence[Tensor] | None
    ) -> None:
        root = roots[0]
        start = _scaled(root)
        if start.leaf and not start.parameter and start.promoted is not None and start.cuts:
            self.report(GraphLost(place=start.promoted, how="promoted", cuts=start.cuts, tensor=start))
        created: dict[Tensor, Node] = {}
        if walk.create_graph:
            filled = [n for n in order if n.accumulates is not None and (inputs is None or n.accumulates in inputs)]
            nodes = self.gradient_nodes(order, filled)
            created = {n.accumulates: made for n, made in zip(filled, nodes, strict=True) if n.accumulates is not None}
        for node in order:
            leaf = node.accumulates
            if leaf is not None:
                if (inputs is not None and leaf not in inputs) or leaf.needs is NO:
                    continue
                leaf.contributions.append(Contribution(walk))
                leaf.has_gradient = True
                previous = leaf.gradient
                if previous is None or walk.create_graph:
                    leaf.gradient = self.tensor(leaf.shape, leaf.dtype)
                    leaf.gradient.gradient_of = leaf
                    if walk.create_graph:
                        own = created[leaf]
                        parents = [own] if own.parents else []
                        if previous is not None and (g := self.graph_of(previous)):
                            parents.append(g)
                        if not parents:
                            # Linear in all that needs grad: a constant.
                            continue
                        leaf.gradient.needs = YES if own.sure else MAYBE
                        leaf.gradient.leaf = False
                        leaf.gradient.node = self.record_node("AccumulateGrad", parents, [], False, own.sure)
                        leaf.gradient.node.output = leaf.gradient
                        leaf.gradient.stores = [
                            Store(
                                walk.place,
                                "attribute",
                                f"{(leaf.names() or ['x'])[-1]}.grad",
                                None,
                                None,
                                self.epoch,
                                self.tick(),
                            )
                        ]
            elif node.output is not None and node.output.retains_grad and node.output.gradient is None:
                node.output.gradient = self.tensor(node.output.shape, node.output.dtype)
                node.output.has_gradient = True
        self._note_terms(root, walk)
        if walk.create_graph and inputs is None:
            self.report(CreateGraphBackward(place=walk.place, made=next(iter(created.values()), None)))

    def gradient_nodes(self, running: Sequence[Node], targets: Sequence[Node | None]) -> list[Node]:
        """The nodes of gradients that were made with `create_graph`, one for each target.

        What lies on the way to all targets is worked out once, and belongs to all of them.
        """
        if len(targets) > MOST_GRADIENTS or len(targets) < 1:
            return [self.gradient_node(running)] * len(targets)
        paths = [self._path_to(running, target) for target in targets]
        if len(paths) == 1:
            return [self.gradient_node(running, paths[0])]
        common = set.intersection(*paths)
        shared = self.gradient_node(running, common)
        nodes = []
        for path in paths:
            own = self.gradient_node(running, path)
            if shared.parents and own.parents:
                own = self.record_node("grad", [*own.parents, shared], own.saved, True, own.sure)
            nodes.append(own)
        return nodes

    @staticmethod
    def _path_to(running: Sequence[Node], target: Node | None) -> set[Node]:
        """What ran on the way to a node, and the node."""
        path = {target} if target is not None else set()
        for node in reversed(running):
            if node is target or any(p is target or p in path for p in node.parents):
                path.add(node)
        return path

    def gradient_node(self, running: Sequence[Node], path: set[Node] | None = None) -> Node:
        """The node of a gradient that was made with `create_graph`: its parents are the edges of what was saved.

        Args:
            running: the nodes that the walk ran.
            path: those on the way to what it is the gradient of; None for all.
        """
        parents: list[Node | None] = []
        saved = []
        sure = True
        for node in running:
            if path is not None and node not in path:
                continue
            if node.once is not None:
                if self._comes_down_with_graph(node, running, path):
                    parents.append(self._refusing(node.once, node.sure))
                continue
            used = node.saved if path is None else self._used_for(node, path)
            saved += used
            sure = sure and node.sure
            for kept in used if node.op not in CHOOSING else ():
                parents.append(node if kept.tensor is node.output else self.edge(kept.tensor))
            if node.op == "grad":
                parents.append(node)
        if not any(parents):
            # What an op keeps for itself may have come from what needs grad: a softmax has, a mask has not.
            own = [n for n in running if (path is None or n in path) and n.private and n.op not in LINEAR | CHOOSING]
            parents += [p for n in own for p in n.parents]
            sure = sure and not own
        return self.record_node("grad", parents, saved[:200], True, sure)

    def _refusing(self, refusal: Refusal, sure: bool) -> Node:
        """A node that raises when a walk comes to it, and leads to nothing that anybody asks for."""
        leaf = self.tensor()
        leaf.needs = YES
        made = self.record_node("custom", [self.accumulator(leaf)], [], False, sure)
        made.refusal = refusal
        return made

    def _comes_down_with_graph(self, node: Node, running: Sequence[Node], path: set[Node] | None) -> bool:
        """Whether the gradient that a walk brings to a node depends on what needs grad: else it is a constant."""
        for above in running:
            if above is node or not above.ancestry >> node.index & 1:
                continue
            if above.op == "grad":
                return True
            used = above.saved if path is None else self._used_for(above, path)
            if above.op not in CHOOSING and any(s.tensor is above.output or self.edge(s.tensor) for s in used):
                return True
        return False

    def _used_for(self, node: Node, path: set[Node]) -> list[Saved]:
        """What a node saved for the gradients of those inputs that lie on a path."""
        if node.recipe is None:
            return node.saved
        saves, tensors = node.recipe
        wanted: set[str] = set()
        for name, group in tensors.items():
            row = saves.get(name) or saves.get(f"{name}[]")
            if row is not None and any((e := self.edge(t)) in path or e is None for t in group):
                wanted.update(what.removesuffix("[]").removesuffix("[=]") for what in (*row.tensors, *row.maybe))
        kept = {id(t) for name in wanted for t in tensors.get(name, ())}
        outputs = any(name.startswith("out") and name[3:].isdigit() for name in wanted)
        return [s for s in node.saved if id(s.tensor) in kept or (outputs and s.tensor.node is node)]

    def _gradients_as_constants(self, walk: Walk, roots: Sequence[Tensor], kind: str) -> None:
        if kind == "assumed":
            return
        for root in roots:
            # A constant vector is what a Hessian-vector product wants; a constant term is not.
            terms = (t for t in sum_terms(root) if t is not root and t.needs is NO)
            for tensor in terms if kind == "grad" else (root,):
                for cut in tensor.cuts:
                    if cut.how == "grad":
                        self.constant_gradients.append((walk, cut))

    def _note_terms(self, root: Tensor, walk: Walk) -> None:
        """Finds the terms of a loss that move nothing: cut off, or reaching no parameter that is stepped."""
        terms = sum_terms(root)

        if len(terms) < 2:
            return
        for term in terms:
            if self.needs_grad(term) is NO and term.origin == "known":
                real = [c for c in term.cuts if c.how not in ("no_grad", "grad")]
                if real and term.number_of_elements in (1, None):
                    self.report(DeadTerm(place=walk.place, term=term, walk=walk, cut=real[-1]))
                elif term.cuts and term.cuts[-1].how == "no_grad":
                    self.constant_terms.append((term, walk, term.cuts[-1]))
            elif self.needs_grad(term) is YES and not term.leaf:
                flat = next((c for c in term.cuts if c.how in ZERO_GRADIENT), None)
                if flat is not None and not any(
                    n.accumulates for n in reachable_without([self.edge(term)], ZERO_GRADIENT)
                ):
                    self.report(DeadTerm(place=walk.place, term=term, walk=walk, cut=flat))
                leaves = [n.accumulates for n in self.below([self.edge(term)]) if n.accumulates is not None]
                self.dead_terms.append((term, walk, leaves))

    def use_gradient(self, leaf: Tensor, how: str, optimizer: Optimizer | None = None) -> None:
        """Notes that something used what is in the leaf's `.grad`."""
        for contribution in leaf.contributions:
            if contribution.used is None or (how == "step" and contribution.used == "read"):
                contribution.used = how
                contribution.optimizer = optimizer
            contribution.walk.used_leaves.add(leaf)

    def zero_gradients(self, leaves: Iterable[Tensor], *, keep: bool = False) -> None:
        """`zero_grad()`: notes which walks lose their contributions.

        Args:
            keep: whether the gradients stay, as tensors of zeros, as `set_to_none=False` has it.
        """
        lost: list[tuple[Tensor, Contribution]] = []
        self.trail.note("zero", id(self.node), keep)
        for leaf in leaves:
            self.last_zeroing[id(leaf)] = (self.order, self.epoch)
            lost += [(leaf, c) for c in leaf.contributions]
            leaf.spent += leaf.contributions
            leaf.contributions = []
            leaf.has_gradient = False
            if keep and leaf.gradient is not None:
                leaf.gradient = self.tensor(leaf.shape, leaf.dtype)
                leaf.gradient.gradient_of = leaf
            else:
                leaf.gradient = None
        for leaf, contribution in lost:
            contribution.zeroed = self.here()
            walk = contribution.walk
            other_pass = bool(
                self.epoch
                and walk.epoch
                and self.epoch[-1][0] == walk.epoch[-1][0]
                and self.epoch[-1][1] != walk.epoch[-1][1]
            )
            entry = self.zeroed.setdefault((id(walk), other_pass), (walk, [0, 0], self.here(), self.tick()))
            entry[1][0 if contribution.used is None else 1] += 1
            if contribution.used is None:
                walk.lost_leaves.add(leaf)


def _scaled(root: Tensor) -> Tensor:
    """What a loss is a multiple of, or the negative: the loss itself otherwise."""
    while not root.leaf and len(root.terms) == 1 and root.node is not None and root.node.op in ("neg", "mul", "div"):
        root = root.terms[0]
    return root


def sum_terms(root: Tensor) -> list[Tensor]:
    """The terms of a sum, each once; of anything else, itself."""
    terms: list[Tensor] = []
    todo, seen = [root], {id(root)}
    while todo:
        tensor = todo.pop()
        parts = [p for p in tensor.terms if id(p) not in seen]
        if tensor.terms:
            seen.update(id(p) for p in parts)
            todo.extend(parts)
        else:
            terms.append(tensor)
    return terms
