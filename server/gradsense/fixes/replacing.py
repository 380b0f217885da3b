"""Putting nodes of libcst in place of others."""

from __future__ import annotations

import libcst as cst


class Replacing(cst.CSTTransformer):
    """Replaces nodes; it does not look into what it replaces.

    Args:
        changes: the new nodes, by the ids of the old ones.
    """

    def __init__(self, changes: dict[int, cst.CSTNode]) -> None:
        super().__init__()
        self._changes = changes

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Whether to look into a node."""
        return id(node) not in self._changes

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNodeT) -> cst.CSTNodeT:
        """What stands for a node."""
        return self._changes.get(id(original_node), updated_node)  # type: ignore[return-value]
