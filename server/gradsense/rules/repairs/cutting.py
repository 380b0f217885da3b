"""Whether a loss still reaches something that learns once a value in its graph is detached."""

from __future__ import annotations

from gradsense.machine.graph import Node, Tensor, Walk
from gradsense.machine.graph_search import reachable


def still_learns(walk: Walk, held: Tensor | None, *, alike: bool = False) -> bool:
    """Whether, with a tensor detached, a walk still finds a leaf, and nothing that it trains is cut off from it.

    Args:
        walk: the walk.
        held: the tensor that would be detached.
        alike: whether what the same expression made in other passes would be detached too.
    """
    cut = held.node if held is not None else None
    root = walk.root.node if walk.root is not None else None
    if root is None or cut is None:
        return True
    left = {n.accumulates for n in _without(root, cut, alike) if n.accumulates is not None}
    lost = {n.accumulates for n in reachable([root]) if n.accumulates is not None} - left
    return bool(left) and not any(_trained_only_by(leaf, walk) for leaf in lost)


def cuts_off(walk: Walk, entry: Node, held: Tensor, target: Node) -> bool:
    """Whether a walk no longer comes to a node once an operation takes a tensor in detached.

    Args:
        walk: the walk.
        entry: the operation.
        held: the tensor.
        target: the node.
    """
    pending = [walk.root.node] if walk.root is not None and walk.root.node is not None else []
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        here = node.place.key == entry.place.key
        pending.extend(parent for parent in node.parents if not (here and parent is held.node))
    return target not in seen


def _without(root: Node, cut: Node, alike: bool) -> set[Node]:
    """The nodes that can be reached without going through `cut`."""
    seen: set[Node] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in seen or node is cut or (alike and node.op == cut.op and node.place.key == cut.place.key):
            continue
        seen.add(node)
        pending.extend(node.parents)
    return seen


def _trained_only_by(leaf: Tensor, walk: Walk) -> bool:
    """Whether a leaf has been stepped, and only on what this same walk gave it in earlier passes."""
    used = [c for c in (*leaf.contributions, *leaf.spent) if c.used is not None]
    return bool(used) and all(c.walk.place.key == walk.place.key for c in used)
