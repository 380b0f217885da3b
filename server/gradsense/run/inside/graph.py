"""Reads a graph: its nodes, what they have saved for the walk, and whether that is still as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from .books import Note, note_of, span_of

CHANGED = "modified by an inplace operation"
DETACHED_INPLACE = "detached in-place"
_fields: dict[type, tuple[str, ...]] = {}


class Saved:
    """A tensor that a node has saved.

    Attributes:
        field: the node's attribute, such as `_saved_self`.
        storage, span, nbytes: the memory it lies in.
        version: its version now.
        leaf: whether it is a leaf that needs grad, such as a parameter: nobody keeps it for the walk's sake.
    """

    __slots__ = ("field", "leaf", "nbytes", "node", "note", "span", "storage", "tensor", "version")

    def __init__(self, node: Any, note: Note | None, field: str, tensor: Any) -> None:
        self.node, self.note, self.field = node, note, field
        self.storage = tensor.untyped_storage()._cdata
        self.nbytes = tensor.untyped_storage().nbytes()
        self.span = span_of(tensor)
        self.version = 0 if tensor.is_inference() else tensor._version
        self.leaf = bool(tensor.is_leaf and tensor.requires_grad)


class Graph:
    """What can be reached from some tensors.

    Attributes:
        nodes: the nodes by identity, without those of leaves.
        saved: what they have saved and can still be read.
        leaves: the leaves that gradients can come to.
        notes: the notes of the nodes.
        opaque: nodes of which nobody can read what they saved: custom functions, and those under saved-tensor hooks.
        custom: whether there are nodes whose backward is Python code.
        unread: how many nodes were left alone, because saved-tensor hooks would run.
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.saved: list[Saved] = []
        self.leaves: list[Any] = []
        self.opaque: list[Any] = []
        self.notes: list[Note] = []
        self.custom = False
        self.unread = 0

    def node_at(self, tick: int) -> Any | None:
        """The node with that note."""
        return self.nodes.get(tick)

    def saved_bytes(self) -> tuple[int, int]:
        """How many tensors are saved, and how much memory they keep: each storage once, parameters not at all."""
        memory = {entry.storage: entry.nbytes for entry in self.saved if not entry.leaf}
        return len(self.saved), sum(memory.values())


def roots_of(tensors: Iterable[Any]) -> list[Any]:
    """The nodes that a walk from these tensors, or gradient edges, begins with."""
    found = []
    for tensor in tensors:
        node = getattr(tensor, "grad_fn", None) if isinstance(tensor, torch.Tensor) else getattr(tensor, "node", None)
        if node is not None:
            found.append(node)
    return found


def read(roots: Iterable[Any], saved: bool = True) -> Graph:
    """Reads everything that can be reached from these nodes.

    Args:
        roots: nodes to begin with.
        saved: whether to read what the nodes have saved, too.
    """
    graph = Graph()
    leaves: set[Any] = set()
    stack = list(roots)
    nodes = graph.nodes
    while stack:
        node = stack.pop()
        if node.name().endswith("AccumulateGrad"):
            if node not in leaves:
                leaves.add(node)
                leaf = node.variable
                graph.leaves.append(leaf)
                held = leaf.grad
                if held is not None and held.grad_fn is not None:  # after a walk with create_graph
                    stack.append(held.grad_fn)
            continue
        note = note_of(node)
        key = note.tick if note is not None else -1 - node._sequence_nr()
        if key in nodes:
            continue
        nodes[key] = node
        if note is not None:
            graph.notes.append(note)
        if isinstance(node, BackwardCFunction):
            graph.custom = True
            graph.opaque.append(node)
        if saved:
            if note is not None and note.hooked:
                graph.unread += 1
                graph.opaque.append(node)
            else:
                graph.saved.extend(saved_of(node, note))
        for parent, _ in node.next_functions:
            if parent is not None:
                stack.append(parent)
    return graph


def saved_of(node: Any, note: Note | None) -> list[Saved]:
    """What a node has saved; nothing of what was freed or is not as it was."""
    found = []
    for field in fields_of(node):
        try:
            value = getattr(node, field)
        except (RuntimeError, AttributeError):
            continue
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, torch.Tensor):
                try:
                    found.append(Saved(node, note, field, tensor))
                except (RuntimeError, NotImplementedError, AttributeError):  # no memory of its own
                    continue
    return found


def broken_fields(node: Any) -> list[tuple[str, Any]]:
    """The attributes that cannot be read because what was saved was written since, with the raw saved tensors."""
    found: list[tuple[str, Any]] = []
    for field in fields_of(node):
        try:
            getattr(node, field)
        except RuntimeError as error:
            if CHANGED in str(error) or DETACHED_INPLACE in str(error):
                raw = getattr(node, "_raw" + field if field.startswith("_saved") else "_raw_saved_tensors")
                raws = raw if isinstance(raw, (list, tuple)) else (raw,)
                found += [(field, item) for item in raws]
        except AttributeError:
            continue
    return found


def memory_of(raw: Any) -> tuple[int, int] | None:
    """Storage and version of a raw saved tensor whose version check fails: only a pack hook is shown the tensor."""
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append((tensor.untyped_storage()._cdata, tensor._version))
        return tensor

    try:
        raw.register_hooks(pack, lambda tensor: tensor)
    except RuntimeError:  # freed, or hooked already
        return None
    return seen[0] if seen else None


def fields_of(node: Any) -> tuple[str, ...]:
    """The attributes of a node that hold saved tensors."""
    kind = type(node)
    fields = _fields.get(kind)
    if fields is None:
        names = dir(kind)
        found = [name for name in names if name.startswith("_saved_") and "_raw" + name in names]
        if issubclass(kind, BackwardCFunction):
            found.append("saved_tensors")
        fields = _fields[kind] = tuple(found)
    return fields
