"""Whether a loss still reaches something that learns once a value in its graph is detached."""

from __future__ import annotations

from gradsense.machine.graph import Node, Tensor, Walk


def still_learns(walk: Walk, held: Tensor | None, *, alike: bool = False) -> bool:
    """Whether a walk finds a leaf without going through a tensor.

    Args:
        walk: the walk.
        held: the tensor that would be detached.
        alike: whether what the same expression made in other passes would be detached too.
    """
    cut = held.node if held is not None else None
    if walk.root is None or cut is None:
        return True
    pending = [walk.root.node] if walk.root.node is not None else []
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in seen or node is cut or (alike and node.op == cut.op and node.place.key == cut.place.key):
            continue
        seen.add(node)
        if node.accumulates is not None:
            return True
        pending.extend(node.parents)
    return False
