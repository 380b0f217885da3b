"""Wrong gradients that torch does not notice: what a node saved was written, and no version tells."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, FunctionCtx

from .aliases import Aliases
from .books import Books, Write
from .graph import Graph, Saved
from .places import Captured

SAVED_AT = "__gradsense_saved__"  # a custom function's attribute
MOST = 20
TORCH = os.path.dirname(torch.__file__) + os.sep


class Fault:
    """A saved tensor that was written behind torch's back, and walked.

    Attributes:
        node: the name of the node that had saved it.
        saved: the stack of the node's making.
        write: the write.
        walk: the stack of the walk.
    """

    def __init__(self, node: str, saved: Captured, write: Write, walk: Captured) -> None:
        self.node, self.saved, self.write, self.walk = node, saved, write, walk


class Silent:
    """Looks for such faults before each walk.

    Attributes:
        faults: what was found.
    """

    def __init__(self, books: Books) -> None:
        self.books = books
        self.aliases = Aliases(books)
        self.faults: list[Fault] = []
        self._known: set[tuple[Any, ...]] = set()

    def look(self, graph: Graph, inputs: Any, walk: Captured) -> None:
        """Looks through a graph that is about to be walked.

        Args:
            graph: the graph, as it was read.
            inputs: to which tensors the walk goes; None for all leaves.
            walk: the stack of the walk.
        """
        writes = self.books.writes
        shared = self.aliases.shared
        if shared:
            for entry in graph.saved:
                if entry.storage in shared:
                    self.aliases.look_at(entry.storage, shared[entry.storage].start, entry.nbytes, [], sys._getframe(3))
        found: list[tuple[Saved, Write]] = []
        for entry in graph.saved:
            if entry.storage in writes and entry.note is not None:
                write = self._write_behind(entry)
                if write is not None:
                    found.append((entry, write))
        if not found:
            return
        walked = leading_to(graph, inputs) if inputs else None
        for entry, write in found:
            if entry.note is None or (walked is not None and entry.note.tick not in walked):
                continue
            key = (entry.node.name(), write.op, write.stack[:2], entry.note.stack[:2])
            if key not in self._known and len(self.faults) < MOST:
                self._known.add(key)
                self.faults.append(Fault(entry.node.name(), entry.note.stack, write, walk))

    def _write_behind(self, entry: Saved) -> Write | None:
        """A write to what this entry saved, which raised no version: reading it has just succeeded."""
        assert entry.note is not None
        since, storages = getattr(entry.node, SAVED_AT, (entry.note.tick, frozenset()))
        custom = isinstance(entry.node, BackwardCFunction)
        for write in self.books.writes_since(entry.storage, since):
            if not write.after and write.stack[0].co_filename.startswith(TORCH) and not write.op.endswith(".step"):
                continue  # torch's own tools write and put things right again, as gradcheck does
            overlaps = write.span[0] < entry.span[1] and entry.span[0] < write.span[1]
            if not overlaps or write.changed is False:
                continue
            if not custom or entry.storage in storages or not write.bumped:
                return write
        return None


def leading_to(graph: Graph, inputs: Any) -> set[int]:
    """The nodes of a graph, by identity, from which some inputs can be reached."""
    inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
    leaves = {id(item) for item in inputs if isinstance(item, torch.Tensor) and item.is_leaf}
    goals = {item.grad_fn for item in inputs if isinstance(item, torch.Tensor) and not item.is_leaf}
    goals |= {getattr(item, "node", None) for item in inputs}
    children: dict[Any, list[Any]] = {}
    starts: list[Any] = []
    keys = {node: key for key, node in graph.nodes.items()}
    for node in graph.nodes.values():
        if node in goals:
            starts.append(node)
        for parent, _ in node.next_functions:
            if parent is None:
                continue
            children.setdefault(parent, []).append(node)
            if parent not in keys and id(getattr(parent, "variable", None)) in leaves:
                starts.append(parent)
    found: set[int] = set()
    seen: set[Any] = set()
    while starts:
        node = starts.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in keys:
            found.add(keys[node])
        starts.extend(children.get(node, ()))
    return found


@contextlib.contextmanager
def moments_of_saving(books: Books) -> Iterator[None]:
    """Notes when custom functions say what they save, and what of it needs grad: torch takes it when forward ends."""
    kind: Any = FunctionCtx
    real = kind.save_for_backward

    def save_for_backward(ctx: Any, *tensors: Any) -> Any:
        inputs = frozenset(
            item.untyped_storage()._cdata
            for item in tensors
            if isinstance(item, torch.Tensor) and item.requires_grad and item.layout == torch.strided
        )
        with contextlib.suppress(AttributeError):
            setattr(ctx, SAVED_AT, (books.tick(), inputs))
        return real(ctx, *tensors)

    kind.save_for_backward = save_for_backward
    try:
        yield
    finally:
        kind.save_for_backward = real
