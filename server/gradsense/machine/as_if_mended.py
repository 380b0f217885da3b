"""Goes on in a walk that raises as if the error were mended: older graphs are cut off, a write has not happened."""

from __future__ import annotations

from collections.abc import Sequence

from gradsense.machine.events import Event, SavedModified, WalkedTwice
from gradsense.machine.graph import Node
from gradsense.machine.place import carried_from

# How a walk gets into a graph of before its pass.
LINKED = ("carried", "outside_loop")


def mended(error: Event, reached: Sequence[Node]) -> bool:
    """Takes away what makes a walk raise.

    Args:
        error: what it raises.
        reached: the nodes that the walk comes to, newest first.

    Returns:
        Whether the walk may be tried again; otherwise nothing could be taken away.
    """
    if isinstance(error, (WalkedTwice, SavedModified)) and error.manner in LINKED:
        return _cut(reached, error)
    if isinstance(error, SavedModified):
        saved, now = error.saved, error.saved.storage.version
        was, saved.version = saved.version, now
        return was != now
    if isinstance(error, WalkedTwice) and error.entry is not None:
        return _leave_out(error.entry, {error.meeting})
    return False


def _cut(reached: Sequence[Node], error: WalkedTwice | SavedModified) -> bool:
    """Cuts the graph of this pass off from that of earlier ones, as a `detach` of all that is carried does."""
    now = error.walk.epoch
    found = False
    for node in reversed(reached):
        older = set() if carried_from(node.epoch, now) else {p for p in node.parents if carried_from(p.epoch, now)}
        found = _leave_out(node, {p for p in older if p.accumulates is None}) or found
    return found


def _leave_out(node: Node, parents: set[Node]) -> bool:
    """Takes parents from a node; what it descends from is reckoned anew in any case."""
    kept = [parent for parent in node.parents if parent not in parents]
    gone = len(kept) < len(node.parents)
    node.lead_to(kept)
    return gone
