"""Gradients that are stepped on again: nobody has zeroed them since the step before."""

from __future__ import annotations

from typing import Any

from .books import Books
from .graph import Graph
from .places import Captured

WATCHED = 2  # parameters of an optimizer that are looked at, the smallest ones: they all fare alike


class Stale:
    """Follows the gradients of some parameters from step to step.

    Attributes:
        faults: for each fault, the stacks of the step that used the gradients first and of the walk that added to them.
    """

    def __init__(self, books: Books) -> None:
        self.books = books
        self.faults: list[tuple[Captured, Captured]] = []
        # by parameter; the gradient itself is kept, since what is made after it was dropped may lie where it lay
        self._used: dict[int, tuple[Any, Captured]] = {}
        self._added: dict[int, tuple[int, Captured, Captured]] = {}  # the moment, the step, the walk

    def walked(self, graph: Graph, stack: Captured) -> None:
        """Notes a walk that is about to add to gradients."""
        if not self._used:
            return
        for leaf in graph.leaves:
            used = self._used.get(id(leaf))
            if used is None or leaf.grad is not used[0]:
                continue
            if id(leaf) not in self._added and bool(leaf.grad.any()):
                self._added[id(leaf)] = (self.books.tick(), used[1], stack)

    def stepping(self, parameters: list[Any]) -> None:
        """Looks at gradients that are about to be used."""
        for parameter in parameters:
            if id(parameter) not in self._used:
                continue
            grad, _ = self._used.pop(id(parameter))
            added = self._added.pop(id(parameter), None)
            if added is not None and parameter.grad is grad and not self._zeroed(grad, added[0]) and not self.faults:
                self.faults.append(added[1:])

    def stepped(self, parameters: list[Any], stack: Captured) -> None:
        """Notes gradients that were used."""
        for parameter in sorted(parameters, key=lambda item: int(item.numel()))[:WATCHED]:
            grad = parameter.grad
            if grad is not None and not grad.is_sparse and grad.grad_fn is None:
                self._used[id(parameter)] = (grad, stack)

    def _zeroed(self, grad: Any, since: int) -> bool:
        return any(
            write.tick > since and any(word in write.op for word in ("zero_", "fill_", "copy_"))
            for write in self.books.writes.get(grad.untyped_storage()._cdata, ())
        )
