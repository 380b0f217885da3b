"""What can only be said when a path is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.machine import growth
from gradsense.machine.events import ConstantGradient, DeadTerm, GradientsDiscarded, RetainedWalk
from gradsense.machine.graph import Walk
from gradsense.machine.place import Place
from gradsense.machine.walking import reachable

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def conclude(machine: Machine) -> None:
    """Reports growth, discarded gradients, terms that move nothing, and needless `retain_graph`."""
    growth.conclude(machine)
    _discarded(machine)
    _dead_terms(machine)
    _constant_gradients(machine)
    _retained(machine)


def _discarded(machine: Machine) -> None:
    """Gradients that were all zeroed before any step used them, in as many passes as not."""
    if not machine.steps:
        return
    lost: dict[tuple[object, ...], int] = {}
    found: dict[tuple[object, ...], tuple[Walk, Place]] = {}
    for (_, other_pass), (walk, (unused, used), place, order) in machine.zeroed.items():
        if not unused or used or walk.kind != "backward" or walk.used_leaves:
            continue
        if not other_pass and not any(at > order for _, _, at in machine.steps):
            continue
        key = walk.place.key
        lost[key] = lost.get(key, 0) + 1
        found.setdefault(key, (walk, place))
    for key, (walk, place) in found.items():
        used_walks = sum(1 for w in machine.walks if w.place.key == key and w.used_leaves)
        if lost[key] >= used_walks:
            event = GradientsDiscarded(place=place, walk=walk)
            event.also = [(walk.place, "walked here")]
            machine.events.append(event)


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
        if any(not n.sure for n in reachable([machine.edge(term)])):
            continue
        cut = term.cuts[-1] if term.cuts else None
        machine.events.append(DeadTerm(place=walk.place, term=term, walk=walk, cut=cut))


def _constant_gradients(machine: Machine) -> None:
    """Gradients that a walked loss took for constants, although what they depend on is being trained."""
    for walk, cut in machine.constant_gradients:
        first = machine.grad_walks.get(id(cut))
        if first is None or first.root is None:
            continue
        below = {n.accumulates for n in reachable([machine.edge(first.root)]) if n.accumulates is not None}
        trained = walk.used_leaves | walk.targets | {p for o in machine.optimizers for p in o.parameters}
        if machine.optimizers and not below & trained:
            continue
        machine.events.append(ConstantGradient(place=walk.place, grad_call=cut.place, walk=walk))


def _retained(machine: Machine) -> None:
    """`retain_graph=True` on a walk whose graph no later walk went through."""
    if machine.ended_early or machine.is_unit:
        return
    by_place: dict[tuple[object, ...], list[bool]] = {}
    calls = {}
    for walk, place in machine.retained:
        if walk.create_graph:
            continue
        by_place.setdefault(place.key, []).append(walk.needed)
        calls[place.key] = place
    for key, needed in by_place.items():
        if not any(needed):
            machine.events.append(RetainedWalk(place=calls[key], call=calls[key], needed=False))
