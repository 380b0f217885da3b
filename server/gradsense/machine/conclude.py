"""What can only be said when a path is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.machine import growth
from gradsense.machine.events import DeadTerm, GradientsDiscarded, RetainedWalk
from gradsense.machine.walking import reachable

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def conclude(machine: Machine) -> None:
    """Reports growth, discarded gradients, terms that move nothing, and needless `retain_graph`."""
    growth.conclude(machine)
    _discarded(machine)
    _dead_terms(machine)
    _retained(machine)


def _discarded(machine: Machine) -> None:
    """Gradients that were all zeroed before any step used them, pass after pass."""
    for (_, other_pass), (walk, (unused, used), place) in machine.zeroed.items():
        if other_pass and unused and not used and walk.kind == "backward" and not walk.used_leaves:
            event = GradientsDiscarded(place=place, walk=walk)
            event.also = [(walk.place, "walked here")]
            machine.events.append(event)


def _dead_terms(machine: Machine) -> None:
    if machine.ended_early or not machine.steps or not all(o.complete for o in machine.optimizers):
        return
    for term, walk, leaves in machine.dead_terms:
        if not leaves or not walk.used_leaves or walk.used_leaves & set(leaves):
            continue
        if any(not n.sure for n in reachable([machine.edge(term)])):
            continue
        cut = term.cuts[-1] if term.cuts else None
        machine.events.append(DeadTerm(place=walk.place, term=term, walk=walk, cut=cut))


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
