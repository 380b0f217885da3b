"""What can be said of all paths of a unit together."""

from __future__ import annotations

from gradsense.machine.events import (
    AnomalyOn,
    DeadTerm,
    Event,
    ForwardUnused,
    GradientsDiscarded,
    InplaceAllowed,
    LossNeverWalked,
    NeverReached,
    NoGraph,
    NothingToStep,
    NotOptimized,
    RetainedWalk,
)
from gradsense.machine.interpreter import Machine

# What is said of a whole program holds only if no path shows otherwise.
ON_ALL_PATHS = (
    RetainedWalk,
    LossNeverWalked,
    DeadTerm,
    NeverReached,
    NothingToStep,
    NotOptimized,
    GradientsDiscarded,
    ForwardUnused,
)
# What another path can take back.
REVOCABLE = (*ON_ALL_PATHS, NoGraph, AnomalyOn, InplaceAllowed)


def merged(machines: list[Machine]) -> list[Event]:
    """The events of several paths, each once, with what all paths together say of it.

    An error is certain only if every path that comes to its line meets it, or ends in an error of its own before.
    """
    by_key: dict[tuple[object, ...], tuple[Event, set[int]]] = {}
    for index, machine in enumerate(machines):
        for event in machine.events:
            key = event.key
            known = by_key.get(key)
            if known is None:
                by_key[key] = (event, {index})
                continue
            known[1].add(index)
            best = known[0]
            if (event.sure and not best.sure) or (event.sure == best.sure and len(event.also) > len(best.also)):
                by_key[key] = (event, known[1])
    raised = {i for i, m in enumerate(machines) if any(e.raises and not e.caught for e in m.events)}
    raising = {e.culprit.key for e, _ in by_key.values() if e.raises}
    walked_places = {w.place.key for m in machines for w in m.walks if w.used_leaves}
    kept: list[Event] = []
    for event, where in by_key.values():
        spot = (event.place.path, event.place.line)
        others = [i for i, m in enumerate(machines) if spot in m.reached or i in where]
        everywhere = all(i in where or i in raised for i in others)
        if event.raises:
            event.certain = event.sure and everywhere
            if isinstance(event, NoGraph) and not everywhere:
                # A branch that never builds a graph is the program's own business.
                continue
        if isinstance(event, GradientsDiscarded) and not (
            event.idle or event.always or event.walk.place.key in walked_places
        ):
            continue
        if (
            isinstance(event, ON_ALL_PATHS)
            and not everywhere
            and not (isinstance(event, RetainedWalk) and event.needed)
        ):
            continue
        if isinstance(event, ForwardUnused) and not any(machine.walks for machine in machines):
            # A program that only predicts may be in no need of `no_grad`.
            continue
        if isinstance(event, AnomalyOn) and len(where) < len(machines):
            # A flag of the program switches it on.
            continue
        if isinstance(event, InplaceAllowed) and event.culprit.key in raising:
            continue
        kept.append(event)
    return kept
