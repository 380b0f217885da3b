"""Gradients that are stepped on again: nobody has zeroed them since the step before."""

from __future__ import annotations

from typing import Any

from .books import Books
from .graph import Graph
from .places import Captured

WATCHED = 4  # parameters of an optimizer that are looked at: they all fare alike


class Stale:
    """Follows the gradients of some parameters from step to step.

    Attributes:
        faults: for each fault, the stacks of the step that used the gradients first and of the walk that added to them.
    """

    def __init__(self, books: Books) -> None:
        self.books = books
        self.faults: list[tuple[Captured, Captured]] = []
        self._used: dict[int, tuple[int, Captured]] = {}  # by parameter: the memory of the gradient, the step
        self._added: dict[int, tuple[int, int, Captured, Captured]] = {}  # memory, moment, the step, the walk

    def walked(self, graph: Graph, stack: Captured) -> None:
        """Notes a walk that is about to add to gradients."""
        if not self._used:
            return
        for leaf in graph.leaves:
            used = self._used.get(id(leaf))
            if used is not None and id(leaf) not in self._added and _memory(leaf) == used[0] and bool(leaf.grad.any()):
                self._added[id(leaf)] = (used[0], self.books.tick(), used[1], stack)

    def stepping(self, parameters: list[Any]) -> None:
        """Looks at gradients that are about to be used."""
        for parameter in parameters[:WATCHED]:
            added = self._added.pop(id(parameter), None)
            if added is None or _memory(parameter) != added[0] or self._zeroed(added[0], added[1]):
                continue
            if not self.faults:
                self.faults.append((added[2], added[3]))

    def stepped(self, parameters: list[Any], stack: Captured) -> None:
        """Notes gradients that were used."""
        for parameter in parameters[:WATCHED]:
            memory = _memory(parameter)
            if memory is not None:
                self._used[id(parameter)] = (memory, stack)

    def _zeroed(self, memory: int, since: int) -> bool:
        return any(
            write.tick > since and any(word in write.op for word in ("zero_", "fill_", "copy_"))
            for write in self.books.writes.get(memory, ())
        )


def _memory(parameter: Any) -> int | None:
    grad = parameter.grad
    if grad is None or grad.is_sparse:
        return None
    found: int = grad.untyped_storage()._cdata
    return found
