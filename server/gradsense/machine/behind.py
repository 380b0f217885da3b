"""What comes behind an error: faults that the program has once that is mended."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradsense.machine.as_if_mended import LINKED
from gradsense.machine.events import (
    DeepcopyOfGraph,
    Event,
    GraphGrows,
    LeafWritten,
    NumpyOfGraph,
    OutWithGrad,
    SavedModified,
    ViewWritten,
    WalkedTwice,
)
from gradsense.machine.interpreter import Machine
from gradsense.machine.outcomes import Exploration
from gradsense.machine.paths import Paths
from gradsense.machine.place import Place
from gradsense.machine.state import Knowledge
from gradsense.machine.units import Unit

# What a statement does by itself, whatever was left out before it.
AT_ONCE = (DeepcopyOfGraph, LeafWritten, NumpyOfGraph, OutWithGrad, ViewWritten)
# What hangs on the graphs, which are as they will be where every error before it could be mended.
OF_GRAPHS = (GraphGrows, SavedModified, WalkedTwice)


def go_behind(paths: Paths, unit: Unit | None, found: Exploration, until: float) -> Machine:
    """Runs a unit whose first path ends in an error on behind that, and adds what that comes to.

    Args:
        paths: runs the unit.
        unit: None for the module level.
        found: what its paths came to.
        until: the processor time at which it has to be over.

    Returns:
        The machine that was run.
    """
    # What it learns of unknown values is nothing that a path of the program shows.
    alone = replace(paths, knowledge=Knowledge(dict(paths.knowledge.facts)))
    machine = alone.run_one(unit, {}, until, passes_errors=True)
    found.behind = machine.called | machine.handed_over
    found.files |= machine.loaded.keys() | machine.consulted
    if machine.passed is not None and not machine.left_out:
        keys = {event.key for event in found.events}
        found.events += [event for event in _behind(machine, machine.passed) if event.key not in keys]
    return machine


def _behind(machine: Machine, first: Event) -> Iterator[Event]:
    """What a machine came to behind the first error that it passed."""
    errors: list[Event] = []
    growths: list[GraphGrows] = []
    for number, event in enumerate(machine.events):
        kinds = AT_ONCE if number >= machine.disturbed else (*AT_ONCE, *OF_GRAPHS)
        if event.caught or not event.sure:
            continue
        if isinstance(event, GraphGrows):
            # What no walk takes may be walked by what comes after a mended error.
            if event.walked and isinstance(event, kinds) and all(_grows_on(event, error) for error in errors):
                event.behind = first
                growths.append(event)
        elif event is first or (isinstance(event, kinds) and not any(_is_of(event, error) for error in errors)):
            errors.append(event)
    lines = {line for error in errors for line in _story(error)}
    yield from (error for error in errors if error.behind is not None)
    for growth in growths:
        if lines.isdisjoint(_line(place) for place in (growth.culprit, *growth.culprit.stack)):
            yield growth


def _is_of(event: Event, error: Event) -> bool:
    """Whether it is gone with what mends an earlier error."""
    if event.culprit.key == error.culprit.key:
        return True
    if isinstance(event, ViewWritten) and isinstance(error, ViewWritten):
        # Written out of place, it is another tensor from there on.
        return event.tensor is error.tensor
    if isinstance(error, WalkedTwice) and error.manner not in LINKED:
        # Losses may be summed, or something detached: how the graphs hang together then is not known.
        return _is_linked(event)
    if event.place.key != error.place.key:
        return False
    if isinstance(event, SavedModified) and isinstance(error, SavedModified):
        return event.write.place.key == error.write.place.key
    return _is_linked(event) and _is_linked(error)


def _grows_on(growth: GraphGrows, error: Event) -> bool:
    """Whether something grows however an error is mended."""
    if not isinstance(error, WalkedTwice) or error.manner in LINKED:
        return True
    # What is computed may hang on what is detached or summed. What is put into a container, or added up, stays.
    cut = error.held.made.key if error.held is not None else None
    stays = growth.slot == "container" or isinstance(growth.store.place.node, ast.AugAssign)
    return stays and all(tensor.made.key != cut for tensor in growth.kept)


def _is_linked(event: Event) -> bool:
    """Whether a walk goes on into an older graph."""
    return isinstance(event, WalkedTwice) or (isinstance(event, SavedModified) and event.manner in LINKED)


def _story(error: Event) -> set[tuple[object, ...]]:
    """The lines that mending an error may change, each with its file."""
    places = [error.culprit]
    if isinstance(error, (WalkedTwice, SavedModified)):
        places += [store.place for store in error.stores]
        if error.held is not None:
            places.append(error.held.made)
    return {_line(place) for place in places}


def _line(place: Place) -> tuple[object, ...]:
    return place.key[:2]
