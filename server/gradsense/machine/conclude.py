"""What can only be said when a path is over."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gradsense.machine import growth, lookalikes
from gradsense.machine.books import ZERO_GRADIENT
from gradsense.machine.events import (
    ClippedInVain,
    ConstantGradient,
    DeadTerm,
    ForwardUnused,
    GradientsDiscarded,
    GraphGrows,
    GraphLost,
    LeftoverGradients,
    LossNeverWalked,
    NeverReached,
    NothingToStep,
    NotOptimized,
    RetainedWalk,
    WastedWalk,
)
from gradsense.machine.graph import Cut, Forward, Node, Store, Tensor, Walk, Write
from gradsense.machine.graph_search import reachable_without
from gradsense.machine.library import module_methods, optim
from gradsense.machine.place import Epoch, Place, PlaceKey
from gradsense.machine.story import holder, in_frame_of
from gradsense.machine.trees import definitions_in, nodes_of
from gradsense.machine.tri import MAYBE, NO, YES
from gradsense.machine.values import DictValue, Instance, Optimizer, parts_of

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def conclude(machine: Machine) -> None:
    """Reports growth, discarded gradients, terms that move nothing, and needless `retain_graph`."""
    growth.conclude(machine)
    _discarded(machine)
    _dead_terms(machine)
    _constant_gradients(machine)
    _never_reached(machine)
    _not_optimized(machine)
    _nothing_to_step(machine)
    _never_walked(machine)
    _wasted(machine)
    _unused(machine)
    _retained(machine)
    _leftovers(machine)
    _clips(machine)
    lookalikes.conclude(machine)


def _discarded(machine: Machine) -> None:
    """Gradients that were all zeroed before any step used them, in as many passes as not."""
    if not machine.steps:
        return
    lost: dict[PlaceKey, int] = {}
    again: dict[PlaceKey, int] = {}
    found: dict[PlaceKey, tuple[Walk, Place, bool]] = {}
    for (_, other_pass), (walk, (unused, used), place, order) in machine.zeroed.items():
        if not unused or used or walk.kind != "backward" or walk.used_leaves or machine.read_by_hooks(walk):
            continue
        if not other_pass and not any(at > order for _, _, at in machine.steps):
            continue
        key = walk.place.key
        lost[key] = lost.get(key, 0) + 1
        again[key] = again.get(key, 0) + (bool(walk.epoch) and not other_pass and not walk.partial)
        idle = any(at > order and walk.lost_leaves & set(o.parameters) for o, at, *_ in machine.idle_steps)
        found.setdefault(key, (walk, place, idle and not other_pass))
    for key, (walk, place, idle) in found.items():
        used_walks = sum(1 for w in machine.walks if w.place.key == key and w.used_leaves)
        if lost[key] >= used_walks:
            event = GradientsDiscarded(place=place, walk=walk, idle=idle, always=again[key] > 1)
            event.early = _step_before_all(machine, key)
            event.idle = event.idle or event.early is not None
            event.also = [(walk.place, "walked here")]
            machine.events.append(event)


def _step_before_all(machine: Machine, key: PlaceKey) -> Place | None:
    """The step that comes before the walk in every pass, and finds no gradient."""
    walks = [walk for walk in machine.walks if walk.place.key == key]
    early: list[Place] = []
    for walk in walks:
        early += [
            s for _, at, s, epoch in machine.idle_steps if at < walk.order and walk.epoch and epoch == walk.epoch
        ][-1:]
    return early[-1] if len(walks) == len(early) > 1 else None


def _leftovers(machine: Machine) -> None:
    """Steps on gradients that another player's walk left, where that player never steps on those of the second walk."""
    seen: set[PlaceKey] = set()
    for walk, own, other, step, both in machine.leftovers:
        # What the second walk brings to the other player is thrown away, or nothing.
        waits = own.used_leaves & set(other.parameters) or any(
            c.walk is own for p in other.parameters for c in p.contributions
        )
        if walk.epoch and own.epoch and not waits and own.place.key not in seen:
            seen.add(own.place.key)
            machine.events.append(LeftoverGradients(place=own.place, walk=walk, own=own, step=step, both=both))


def _clips(machine: Machine) -> None:
    """Gradients that are clipped in vain, each time."""
    for noted in machine.clips.values():
        place = noted.place
        if noted.late == noted.calls and _is_statement(machine, place):
            machine.events.append(ClippedInVain(place=place, step=noted.step))
        elif noted.early == noted.calls and not machine.ended_early and _all_is_seen(machine):
            walk = next((w for w in machine.walks if w.kind == "backward"), None)
            if walk is not None:
                machine.events.append(ClippedInVain(place=place, walk=walk))


def _is_statement(machine: Machine, place: Place) -> bool:
    """Whether a call stands for itself: nobody takes its result."""
    module = machine.workspace.parsed(place.source.path)
    nodes = nodes_of(module.tree) if module is not None else []
    return any(isinstance(node, ast.Expr) and node.value is place.node for node in nodes)


def _dead_terms(machine: Machine) -> None:
    if machine.ended_early or not machine.steps or not all(o.complete for o in machine.optimizers):
        return
    moving = {
        term.made.key
        for term, walk, leaves in machine.dead_terms
        if walk.used_leaves & set(leaves) or not walk.used_leaves
    }
    for term, walk, leaves in machine.dead_terms:
        if term.made.key in moving:
            continue
        if not leaves or not walk.used_leaves or walk.used_leaves & set(leaves):
            continue
        if not machine.given_away.isdisjoint(leaves):
            continue
        if any(not n.sure for n in machine.below([machine.edge(term)])):
            continue
        cut = term.cuts[-1] if term.cuts else None
        machine.events.append(DeadTerm(place=walk.place, term=term, walk=walk, cut=cut))
    missing = _missing(machine) if machine.constant_terms else set()
    for term, walk, cut in machine.constant_terms:
        lost = {n.accumulates for n in machine.below(machine.edge(t) for t in cut.lost) if n.accumulates is not None}
        if lost & (walk.used_leaves | missing):
            machine.events.append(DeadTerm(place=walk.place, term=term, walk=walk, cut=cut))


def _constant_gradients(machine: Machine) -> None:
    """Gradients that a walked loss took for constants, although what they depend on is being trained."""
    if machine.ended_early:
        return
    for walk, cut in machine.constant_gradients:
        first = machine.grad_walks.get(id(cut))
        if first is None or first.root is None:
            continue
        below = {n.accumulates for n in machine.below([machine.edge(first.root)]) if n.accumulates is not None}
        trained = walk.used_leaves | walk.targets | {p for o in machine.optimizers for p in o.parameters}
        if machine.optimizers and not below & trained:
            continue
        machine.events.append(ConstantGradient(place=walk.place, grad_call=cut.place, walk=walk))


def _never_reached(machine: Machine) -> None:
    """Parameters that an optimizer stepped over without a gradient, although a walked loss was computed from them."""
    if machine.ended_early or (machine.optimizers and not machine.steps):
        return
    stepped = _stepped(machine)
    missing = _missing(machine) | _unmoved(machine, stepped)
    if not missing:
        return
    seen: set[PlaceKey] = set()
    seen_all = _all_is_seen(machine)
    for walk in machine.walks:
        if walk.kind != "backward" or walk.root is None:
            continue
        for cut in walk.cuts:
            if cut.how == "grad" or cut.place.key in seen:
                continue
            reached = machine.below(machine.edge(t) for t in cut.lost)
            lost = [n.accumulates for n in reached if n.accumulates in missing]
            if lost and lost[0] is not None:
                event = NeverReached(place=walk.place, parameter=lost[0], cut=cut, walk=walk)
                event.idle = any(
                    lost[0] in group and all(map(_has_none, group))
                    for o in stepped
                    for group in (o.parameters, *o.groups)
                )
                event.idle = event.idle and (cut.how != "no_grad" or seen_all)
                seen.add(cut.place.key)
                event.straight = _is_straight_through(machine, cut, lost[0])
                event.wanted = _is_wanted(machine, cut, lost[0], stepped)
                event.also = [(walk.place, "walked here")]
                machine.events.append(event)


def _stepped(machine: Machine) -> list[Optimizer]:
    """The optimizers that made a step and whose parameters are all known."""
    return [o for o in machine.optimizers if o.complete and any(s[0] is o for s in machine.steps)]


def _missing(machine: Machine) -> set[Tensor]:
    """Parameters that were stepped over, and have no gradient ever."""
    return {p for o in _stepped(machine) for p in o.parameters if p.parameter and p.needs is YES and _has_none(p)}


def _is_straight_through(machine: Machine, cut: Cut, parameter: Tensor) -> bool:
    """Whether only `x + (q - x).detach()` leads to a parameter, and nothing else moves it after the first walk."""
    if cut.how not in ("detach", "data"):
        return False
    first = machine.walks[0].order
    if any(w.order > first and w.kind not in ("step", "fused") for w in _writes(parameter)):
        return False
    return any(
        (node := machine.graph_of(tensor)) is not None
        and node.op == "sub"
        and len(node.inputs) == 2
        and (passed := machine.edge(node.inputs[1])) is not None
        and passed.walked is not None
        for tensor in cut.lost
    )


def _is_wanted(machine: Machine, cut: Cut, parameter: Tensor, stepped: list[Optimizer]) -> bool:
    """Whether the program shows that a cut was not meant to keep the gradient from a parameter."""
    if cut.place.key in machine.watched or any(cut in t.cuts and _is_filled_in_vain(t) for t in machine.raised):
        return True
    if _is_in_constructor(machine, cut):
        return True
    return any(parameter in o.parameters and _is_named(machine, o, parameter) for o in stepped)


def _is_in_constructor(machine: Machine, cut: Cut) -> bool:
    """Whether all that a parameter is used for is a value that its module makes once, without a graph."""
    module = machine.workspace.parsed(cut.place.source.path)
    for found in definitions_in(module.tree) if module is not None else ():
        methods = (
            {m.name: m for m in found.body if isinstance(m, ast.FunctionDef)} if isinstance(found, ast.ClassDef) else {}
        )
        constructor = methods.get("__init__") if "forward" in methods else None
        if constructor is not None and any(node is cut.place.node for node in nodes_of(constructor)):
            return True
    return False


def _is_filled_in_vain(tensor: Tensor) -> bool:
    """Whether a walk ended in a tensor that was told to require grad, and nothing asked for that gradient."""
    return bool(tensor.contributions) and not any(
        c.used or tensor in c.walk.targets for c in (*tensor.contributions, *tensor.spent)
    )


def _is_named(machine: Machine, optimizer: Optimizer, parameter: Tensor) -> bool:
    """Whether the call that made an optimizer names a module that has the parameter, and no gradient in any other.

    An optimizer over all of a network holds what is frozen by a `detach()` as well. One over this part and that part of
    it is told to step both.
    """
    inside = {id(node) for node in nodes_of(optimizer.made.node)}
    own = set(optimizer.parameters)
    return any(
        id(place.node) in inside and parameter in tensors and own > set(tensors) and all(map(_has_none, tensors))
        for place, tensors in machine.asked
    )


def _writes(tensor: Tensor) -> tuple[Write, ...]:
    return (*tensor.storage.writes, *tensor.storage.silent)


def _all_is_seen(machine: Machine) -> bool:
    """Whether every walk of the program is known, and nothing that has a graph was handed to unseen code."""
    walks = [w for w in machine.walks if w.kind == "backward"]
    if machine.is_unit or machine.escaped:
        return False
    return all(w.known for w in walks) and all(machine.sites.values())


def _nothing_to_step(machine: Machine) -> None:
    """Optimizers none of whose parameters ever gets a gradient, in a program all of whose walks are known."""
    walks = [w for w in machine.walks if w.kind == "backward"]
    if machine.ended_early or not walks or not _all_is_seen(machine):
        return
    told = {e.parameter for e in machine.events if isinstance(e, NeverReached)}
    succeeded = {e.optimizer.key for e in machine.events if isinstance(e, NotOptimized) and e.how == "rebound"}
    for optimizer in machine.optimizers:
        if optimizer.made.key in succeeded:
            continue
        steps = [(place, order) for o, place, order in machine.steps if o is optimizer]
        before = [w for w in walks if steps and w.order < steps[-1][1]]
        own = optimizer.parameters
        if not optimizer.complete or not own or not before or told & set(own):
            continue
        if not all(p.leaf and p.origin == "known" and not p.phantom and _has_none(p) for p in own):
            continue
        if any(p.needs is MAYBE for p in own):
            continue
        frozen = next((p for p in own if p.needs is NO), None)
        if frozen is not None and frozen.parameter and THAWS.search(optimizer.made.source.text):
            # On another path, or in a later pass, it may need grad.
            continue
        event = NothingToStep(place=steps[-1][0], optimizer=optimizer.made, walk=before[-1], frozen=frozen)
        machine.events.append(event)


def _has_none(leaf: Tensor) -> bool:
    """Whether nothing ever filled the leaf's `.grad`."""
    return not leaf.contributions and not leaf.spent and not leaf.has_gradient and leaf.gradient is None


def _unmoved(machine: Machine, stepped: list[Optimizer]) -> set[Tensor]:
    """Parameters that every walk reaches only through ops whose gradient is zero."""
    if not any(c.how in ZERO_GRADIENT for w in machine.walks for c in w.cuts):
        return set()
    moved: set[Tensor | None] = set()
    for walk in machine.walks:
        if walk.root is not None:
            flows = reachable_without([machine.edge(walk.root)], ZERO_GRADIENT)
            moved |= {n.accumulates for n in flows}
    if stepped or machine.optimizers:
        held = {p for o in stepped for p in o.parameters if p.parameter and (p.contributions or p.spent)}
    else:
        # A script that shows gradients and makes no step.
        ends = [w.root for w in machine.walks if w.kind == "backward" and w.root is not None]
        leaves = {n.accumulates for n in machine.below([machine.edge(r) for r in ends])}
        held = {p for p in leaves if p is not None and p.parameter and not p.phantom and p.contributions}
    return {p for p in held if p not in moved}


# Layers in the wrong place, of which it is looked at whether anything moves them.
REGISTERED = frozenset(("list", "replaced", "rebound"))


def _not_optimized(machine: Machine) -> None:
    """Parameters that get gradients, of layers that the optimizer of their module does not know of."""
    if machine.ended_early or machine.is_unit or not machine.steps or not all(o.complete for o in machine.optimizers):
        return
    held = {p for o in machine.optimizers for p in o.parameters}
    seen: set[PlaceKey] = set()

    def look(held_by: Instance | Tensor, optimizer: Optimizer, how: str, place: Place) -> None:
        own = [held_by] if isinstance(held_by, Tensor) else [t for _, t in module_methods.tensors(held_by)]
        if place.key in seen or any(p in held for p in own):
            return
        for parameter in own:
            given = [*parameter.contributions, *parameter.spent]
            used = any(c.used == "update" if how in REGISTERED else c.used for c in given)
            if not given or (how == "rebound" and not _is_stepped_since(machine, optimizer, given[0].walk)):
                continue
            if parameter.needs is YES and parameter.parameter and not used:
                seen.add(place.key)
                event = NotOptimized(
                    place=place, parameter=parameter, how=how, optimizer=optimizer.made, walk=given[0].walk
                )
                machine.events.append(event)
                return

    for module, optimizer, place, how in machine.replaced:
        look(module, optimizer, how, place)
    for owner, name, place in machine.plain_leaves:
        beside = {t for _, t in module_methods.tensors(owner) if t.parameter}
        steps = [o for o in machine.optimizers if beside & set(o.parameters) or not beside]
        leaf = owner.attributes.get(name)
        given = [*leaf.contributions, *leaf.spent] if isinstance(leaf, Tensor) and leaf not in held else []
        if isinstance(leaf, Tensor) and steps and given and not any(c.used for c in given):
            event = NotOptimized(place=place, parameter=leaf, how="tensor", optimizer=steps[0].made, walk=given[0].walk)
            machine.events.append(event)
    for (_, name), (owner, place) in {(id(o), name): (o, place) for o, name, place in machine.plainly_held}.items():
        beside = {t for _, t in module_methods.tensors(owner)}
        steps = [o for o in machine.optimizers if beside & set(o.parameters)]
        for part in parts_of(owner.attributes.get(name)) if steps else ():
            if isinstance(part, Tensor) or (isinstance(part, Instance) and part.is_module):
                look(part, steps[0], "list", place)
    if machine.handed_on:
        return
    for leaf, place in machine.thawed:
        look(leaf, machine.optimizers[-1], "thawed", place)
    for leaf, place in machine.late:
        look(leaf, machine.optimizers[-1], "late", place)
    for leaf in machine.loose:
        if leaf.stores and all(s.kind == "name" for s in leaf.stores):
            look(leaf, machine.optimizers[-1], "loose", leaf.made)
        elif not leaf.stores and leaf.contributions + leaf.spent and _is_used_up(machine, leaf.made):
            look(leaf, machine.optimizers[-1], "used up", leaf.made)
    for group in machine.groups:
        _forgotten(machine, group, held)


def _is_used_up(machine: Machine, made: Place) -> bool:
    """Whether an operator or a method takes a new parameter at once, so that nobody has the parameter itself."""
    module = machine.workspace.parsed(made.source.path)
    for node in nodes_of(module.tree) if module is not None else ():
        if isinstance(node, ast.UnaryOp) and node.operand is made.node:
            return True
        if isinstance(node, ast.BinOp) and (node.left is made.node or node.right is made.node):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.value is made.node:
            return not node.func.attr.endswith("_")
    return False


# Later than this path goes, a group may be given to the optimizer.
ADDS_GROUP = re.compile(r"\badd_param_group\b")


def _forgotten(machine: Machine, group: DictValue, held: set[Tensor]) -> None:
    """A group of parameters that was made, gets gradients, and was given to no optimizer."""
    made = group.made
    parameters, unknowns = optim.parameters_of(machine, group)
    if made is None or unknowns or not parameters or ADDS_GROUP.search(made.source.text):
        return
    given = [c for p in parameters for c in (*p.contributions, *p.spent)]
    if any(p in held or not p.parameter for p in parameters) or not given or any(c.used for c in given):
        return
    event = NotOptimized(
        place=made, parameter=parameters[0], how="group", optimizer=machine.optimizers[-1].made, walk=given[0].walk
    )
    machine.events.append(event)


def _is_stepped_since(machine: Machine, optimizer: Optimizer, walk: Walk) -> bool:
    """Whether an optimizer made a step behind a walk: who makes none may only look at the gradients."""
    return any(other is optimizer and order > walk.order for other, _, order in machine.steps)


THAWS = re.compile(r"requires_grad(_\((?!\s*False)|\s*=\s*(?!False|=))")
LOSS_NAME = re.compile(r"loss|(^|_)err(or)?(_|$|[A-Z])|cost|objective", re.IGNORECASE)
NOT_TRAINED = re.compile(r"val|test|eval|metric|best|log|avg|mean|prev|total|running|epoch|sum|hist", re.IGNORECASE)


def _never_walked(machine: Machine) -> None:
    """Losses in the pass of a step that no walk takes in, in any pass."""
    if machine.ended_early or machine.is_unit or not machine.steps:
        return
    trained = {p for o in machine.optimizers if o.complete for p in o.parameters}
    escaped = 0
    for node in machine.escaped:
        escaped |= node.ancestry

    by_place: dict[PlaceKey, list[tuple[Store, Tensor]]] = {}
    for store, tensor in machine.losses:
        by_place.setdefault(store.place.key, []).append((store, tensor))
    flagged: list[tuple[Store, Tensor]] = []
    for instances in by_place.values():
        store, tensor = instances[-1]
        if not LOSS_NAME.search(store.name) or NOT_TRAINED.search(store.name):
            continue
        if _only_last_is_walked(machine, instances, trained, escaped):
            machine.events.append(LossNeverWalked(place=store.place, loss=instances[0][1], overwritten=store.place))
            continue
        if not all(s.epoch in machine.step_epochs for s, _ in instances):
            continue
        if not any(order > store.order for _, _, order in machine.steps):
            # Computed after the last step, to be looked at.
            continue
        if all(_is_lost(machine, t, trained, escaped) for _, t in instances):
            flagged.append((store, tensor))
    for store, tensor in flagged:
        if any(_holds(other, tensor) for _, other in flagged if other is not tensor):
            continue
        event = LossNeverWalked(place=store.place, loss=tensor, overwritten=_overwritten(machine, store))
        event.also = [(machine.steps[-1][1], "stepped here")]
        if event.overwritten is not None:
            event.also.insert(0, (event.overwritten, "overwritten here"))
        machine.events.append(event)


def _only_last_is_walked(
    machine: Machine, instances: list[tuple[Store, Tensor]], trained: set[Tensor], escaped: int
) -> bool:
    """Whether a loop without a step in it computes a loss in each pass, and the last one alone is walked after it."""
    by_run: dict[Epoch, list[tuple[Store, Tensor]]] = {}
    for one in instances:
        by_run.setdefault(one[0].epoch[:-1], []).append(one)
    if len(by_run) > 1:
        return all(_only_last_is_walked(machine, run, trained, escaped) for run in by_run.values())
    if len(instances) < 2:
        return False
    *earlier, (store, last) = instances
    if not store.epoch or len({s.epoch for s, _ in instances}) < len(instances):
        return False
    if any(s.epoch in machine.step_epochs for s, _ in instances) or last.node is None or last.node.walked is None:
        return False
    return all(_is_lost(machine, t, trained, escaped) for _, t in earlier)


def _holds(total: Tensor, part: Tensor) -> bool:
    """Whether a loss was computed from another."""
    whole, inner = total.node, part.node
    return whole is not None and inner is not None and whole.ancestry & inner.ancestry == inner.ancestry


def _overwritten(machine: Machine, store: Store) -> Place | None:
    """The next store under the same name."""
    later = [
        s
        for s, _ in machine.losses
        if s.name == store.name and s.order > store.order and s.place.key != store.place.key
    ]
    return min(later, key=lambda s: s.order).place if later else None


def _is_lost(machine: Machine, tensor: Tensor, trained: set[Tensor], escaped: int) -> bool:
    """Whether nothing walked the tensor, and it would have moved a parameter."""
    node = tensor.node
    if node is None or node.walked is not None or not node.sure or tensor.number_of_elements != 1:
        return False
    if any(s.kind != "name" for s in tensor.stores) or (node.ancestry & escaped) == node.ancestry:
        return False
    reached = machine.below([node])
    if any(not n.sure for n in reached):
        return False
    fresh = [n for n in reached if n.walked is None and n.accumulates is None]
    return any(p.accumulates in trained for n in fresh for p in n.parents if p.accumulates is not None)


def _wasted(machine: Machine) -> None:
    """Walks through a network of which every gradient was zeroed unused: an argument that should be detached."""
    if machine.ended_early:
        return
    seen: set[PlaceKey] = set()
    for walk in machine.walks:
        lost = walk.lost_leaves
        if not lost or not walk.used_leaves or lost & walk.used_leaves or walk.root is None or walk.kind != "backward":
            continue
        parameters = {t for t in lost if t.parameter}
        if not parameters:
            continue
        found = _entrance(machine, walk, parameters)
        if found is None or found[0].key in seen:
            continue
        use, node = found
        others = _other_walks(machine, node, walk)
        if any(other.kind != "grad" or other.targets & lost for other in others):
            # Another walk may need what lies behind.
            continue
        seen.add(use.key)
        machine.events.append(WastedWalk(place=walk.place, walk=walk, use=use, asked=bool(others)))


def _other_walks(machine: Machine, node: Node, walk: Walk) -> list[Walk]:
    """The other walks that go through a node."""
    late = [w for w in machine.walks if w is not walk and w.order > node.order]
    return [w for w in late if w.root is not None and node in machine.below([machine.edge(w.root)])]


def _entrance(machine: Machine, walk: Walk, lost: set[Tensor]) -> tuple[Place, Node] | None:
    """Where a value that depends only on the lost parameters enters the rest of the graph, and the node there."""
    assert walk.root is not None
    order = sorted(machine.below([machine.edge(walk.root)]), key=lambda n: n.order)
    below: dict[Node, tuple[bool, int]] = {}
    for node in order:
        own = node.accumulates
        if own is not None:
            below[node] = (own in lost or not own.parameter, int(own in lost))
            continue
        parts = [below.get(p, (True, 0)) for p in node.parents]
        below[node] = (all(p for p, _ in parts), sum(c for _, c in parts))
    for node in order:
        if node not in below or below[node][0]:
            continue
        for parent in node.parents:
            pure, count = below[parent]
            if pure and count >= 2 and parent.output is not None:
                makers = [n for n in order if any(p.accumulates in lost for p in n.parents)]
                place = _call_without(node.place, makers) or in_frame_of(node.place, list(parent.output.stores))
                return place, node
    return None


def _unused(machine: Machine) -> None:
    """Calls of networks whose graph no walk ever goes through, in any pass, and which nobody unseen could walk."""
    if machine.ended_early or not machine.forwards:
        return
    busy = 0
    for node in machine.escaped:
        busy |= node.ancestry
    for event in machine.events:
        # What is lost or forgotten should be walked, which is another thing to mend.
        if isinstance(event, LossNeverWalked) and event.loss.node is not None:
            busy |= event.loss.node.ancestry
        elif isinstance(event, (DeadTerm, NeverReached, GraphLost)) and (cuts := _cuts_of(event)):
            for tensor in (t for cut in cuts for t in cut.lost):
                busy |= tensor.node.ancestry if tensor.node is not None else 0
        elif isinstance(event, GraphGrows):
            for kept in (machine.graph_of(t) for t in event.kept):
                busy |= kept.ancestry if kept is not None else 0
    by_place: dict[PlaceKey, list[Forward]] = {}
    for forward in machine.forwards:
        by_place.setdefault(forward.place.key, []).append(forward)
    unused = [group for group in by_place.values() if all(_is_unused(machine, one, busy) for one in group)]
    needed = _lines_of_walked(machine) if unused else set()
    for group in unused:
        machine.events.append(ForwardUnused(place=group[-1].place, needed=needed))


def _lines_of_walked(machine: Machine) -> set[tuple[str, int]]:
    """The lines on which something was made that a walk took, and those of the calls that led there."""
    roots = [machine.edge(walk.root) for walk in machine.walks if walk.root is not None]
    places = (p for node in machine.below(roots) for p in (node.place, *node.place.stack))
    return {(place.path, place.line) for place in places}


def _cuts_of(event: DeadTerm | NeverReached | GraphLost) -> tuple[Cut, ...]:
    cuts = event.cuts if isinstance(event, GraphLost) else (event.cut,)
    return tuple(cut for cut in cuts if cut is not None)


def _is_unused(machine: Machine, forward: Forward, busy: int) -> bool:
    """Whether a network's call built a graph on its own parameters, and nothing came to it."""
    if any(busy >> node.index & 1 for node in forward.tops):
        return False
    todo, seen, has_parameters = list(forward.tops), set(forward.tops), False
    while todo:
        node = todo.pop()
        if not node.sure or node.walked is not None:
            return False
        for parent in node.parents:
            leaf = parent.accumulates
            if leaf is not None:
                has_parameters = has_parameters or (leaf.parameter and not leaf.phantom)
            elif parent.index >= forward.first and parent not in seen:
                seen.add(parent)
                todo.append(parent)
    machine.spend(len(seen))
    return has_parameters


def _call_without(place: Place, makers: list[Node]) -> Place | None:
    """The outermost call on the way to a place in which none of some nodes was made."""
    for depth in range(len(place.stack)):
        path = [call.node for call in place.stack[: depth + 1]]
        if not any([call.node for call in maker.place.stack[: depth + 1]] == path for maker in makers):
            return place.stack[depth]
    return None


def _is_handed_on(machine: Machine, walk: Walk) -> bool:
    """Whether unseen code got hold of something that a later walk through this graph could start from."""
    if walk.root is None or not machine.escaped:
        return False
    walked = machine.edge(walk.root)
    if not walk.known or walked is None:
        return True
    return any(node.ancestry & walked.ancestry for node in machine.escaped)


def _retained(machine: Machine) -> None:
    """`retain_graph=True` on a walk whose graph no later walk went through."""
    if machine.ended_early or machine.is_unit:
        return
    by_place: dict[PlaceKey, list[bool]] = {}
    calls: dict[PlaceKey, Place] = {}
    for walk, node in machine.hidden.values():
        held = node.output
        carried = holder(node, list(held.stores) if held is not None else [], walk.epoch)
        event = RetainedWalk(place=walk.place, call=walk.place, needed=True, hides=carried)
        event.also = [(carried, "carried from here")]
        machine.events.append(event)
    for walk, place in machine.retained:
        if walk.create_graph or _is_handed_on(machine, walk):
            continue
        by_place.setdefault(place.key, []).append(walk.needed)
        calls[place.key] = place
    for key, needed in by_place.items():
        if not any(needed):
            machine.events.append(RetainedWalk(place=calls[key], call=calls[key], needed=False))
