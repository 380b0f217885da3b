"""What is kept alive: by which variables, attributes and containers of the live scopes.

Each of them is a slot; what a slot holds is the set of graph nodes reachable from its tensors, as one integer.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gradsense.machine.frames import Frame
from gradsense.machine.graph import Node, Store, Tensor
from gradsense.machine.trees import nodes_of, notes
from gradsense.machine.values import (
    HOLD_NOTHING,
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    Distribution,
    External,
    Function,
    Instance,
    ListValue,
    Partial,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

SlotKey = tuple[str, int, str]


class Slot:
    """What one variable, attribute or container keeps alive."""

    __slots__ = ("ancestry", "find_store", "kind", "tops")

    def __init__(self, kind: str, find_store: Callable[[], Store | None]) -> None:
        self.kind = kind
        self.find_store = find_store
        self.ancestry = 0
        self.tops: list[Node] = []


def alive(machine: Machine, held: Value = None) -> dict[SlotKey, Slot]:
    """What every slot of every live scope keeps alive.

    Args:
        held: something else that lives on.
    """
    slots: dict[SlotKey, Slot] = {}
    seen: set[int] = set()
    seen_captures: set[tuple[int, int]] = set()
    seen_tuples: set[tuple[int, SlotKey]] = set()
    frames: list[Frame] = []
    for frame in [*machine.frames, machine.frame]:
        scope: Frame | None = frame
        while scope is not None and scope not in frames:
            frames.append(scope)
            scope = scope.parent
    todo: list[tuple[SlotKey, Value, Callable[[], Store | None], int]] = []
    visited = 0

    graphs_made = any(walk.create_graph for walk in machine.walks)
    # The scopes whose names have been taken in.
    taken: set[int] = set()

    def add_names(frame: Frame) -> None:
        taken.add(id(frame))
        for name, value in frame.variables.items():
            if _holds_nothing(value):
                continue
            if isinstance(value, Function):
                if not value.keeping and not value.attributes and id(value.environment) in taken:
                    continue
            elif isinstance(value, ClassValue) and all(type(part) is Function for part in value.namespace.values()):
                continue
            todo.append((("name", id(frame), name), value, _stored(frame.stores, name), 0))

    for frame in reversed(frames):
        add_names(frame)
    if held is not None:
        todo.append((("name", id(held), ""), held, _always(None), 0))
    while todo:
        visited += 1
        if visited & 63 == 0:
            machine.spend(64)
        key, value, find_store, depth = todo.pop()
        if isinstance(value, Tensor):
            _hold(machine, slots, key, value, find_store)
            if value.gradient is not None and value.gradient.node is not None and id(value) not in seen:
                seen.add(id(value))
                gradient = value.gradient
                store = gradient.stores[-1] if gradient.stores else None
                _hold(machine, slots, ("gradient", id(value), ""), gradient, _always(store))
        elif isinstance(value, (*SCALARS, Unknown, External)) or depth > 12:
            continue
        elif isinstance(value, (ListValue, DictValue)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            inner = key if key[0] == "container" else ("container", key[1], key[2])
            parts = (
                value.items
                if isinstance(value, ListValue)
                else [*value.items.values(), *(k for k in value.items if isinstance(k, Tensor))]
            )
            put = _put(value, find_store)
            todo += [(inner, part, put, depth + 1) for part in parts if not _holds_nothing(part)]
        elif isinstance(value, tuple):
            if (id(value), key) in seen_tuples:
                continue
            seen_tuples.add((id(value), key))
            for part in value:
                if not isinstance(part, SCALARS):
                    todo.append((key, part, find_store, depth + 1))
        elif isinstance(value, Instance):
            if id(value) in seen:
                continue
            seen.add(id(value))
            # A library's module holds parameters, whose gradients have a graph only where a walk made one.
            bare = value.cls is None and value.is_module and not value.stores and not graphs_made
            for name, part in () if bare else value.attributes.items():
                if _holds_nothing(part):
                    continue
                if key[0] == "container" and not value.is_module and not _is_set_since(value, name, find_store()):
                    todo.append((key, part, find_store, depth + 1))
                else:
                    todo.append((("attribute", id(value), name), part, _stored(value.stores, name), depth + 1))
            if value.children is not None:
                todo.append((key, value.children, find_store, depth + 1))
            if value.cls is not None:
                todo.append((key, value.cls, find_store, depth + 1))
            for hook in (*value.forward_hooks, *value.backward_hooks):
                todo.append((key, hook, find_store, depth + 1))
        elif isinstance(value, ClassValue):
            if id(value) not in seen:
                seen.add(id(value))
                for name, part in value.namespace.items():
                    if isinstance(part, (ListValue, DictValue, Tensor)):
                        todo.append((("attribute", id(value), name), part, _always(None), depth + 1))
        elif isinstance(value, BoundMethod):
            todo.append((key, value.receiver, find_store, depth + 1))
        elif isinstance(value, Partial):
            for part in (*value.arguments, *value.keywords.values()):
                todo.append((key, part, find_store, depth + 1))
        elif isinstance(value, Distribution):
            for part in value.parameters.values():
                todo.append((key, part, find_store, depth + 1))
        elif isinstance(value, Function):
            environment = value.environment
            if environment in frames:
                pass
            elif key[0] != "container":
                if id(environment) not in taken:
                    add_names(environment)
            elif (id(environment), id(value.node)) not in seen_captures:
                # What functions in a container captured is kept by the container.
                seen_captures.add((id(environment), id(value.node)))
                for name in captured(value):
                    part = environment.variables.get(name)
                    if not isinstance(part, SCALARS):
                        todo.append((key, part, find_store, depth + 1))
            for part in (*value.keeping, *value.attributes.values()):
                todo.append((key, part, find_store, depth + 1))
    return slots


def _holds_nothing(value: Value) -> bool:
    """Whether it surely keeps no graph alive."""
    kind = type(value)
    if kind is Tensor:
        tensor: Tensor = value  # type: ignore[assignment]  # its type was just looked at
        return tensor.leaf and tensor.base is None and tensor.gradient is None
    return kind in HOLD_NOTHING


# What was found out about definitions, for as long as their trees live.
_READS: WeakKeyDictionary[ast.AST, set[str]] = notes()


def captured(function: Function) -> set[str]:
    """The names that a function reads."""
    known = _READS.get(function.node)
    if known is None:
        known = {n.id for n in nodes_of(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        _READS[function.node] = known
    return known


def _stored(stores: Mapping[str, Store], name: str) -> Callable[[], Store | None]:
    """Finds the last store to a variable or an attribute."""
    return lambda: stores.get(name)


def _put(container: ListValue | DictValue, outer: Callable[[], Store | None]) -> Callable[[], Store | None]:
    """Finds the last store into a container, else where the container itself was put."""
    return lambda: container.last_store or outer()


def _is_set_since(owner: Instance, name: str, put: Store | None) -> bool:
    """Whether an attribute was set after its owner, or anything else, was put into the container that holds it."""
    store = owner.stores.get(name)
    return store is not None and put is not None and store.order > put.order


def _always(store: Store | None) -> Callable[[], Store | None]:
    return lambda: store


def _hold(
    machine: Machine,
    slots: dict[SlotKey, Slot],
    key: SlotKey,
    tensor: Tensor,
    find_store: Callable[[], Store | None],
) -> None:
    node = machine.graph_of(tensor)
    if node is None or tensor.leaf:
        return
    slot = slots.get(key)
    if slot is None:
        slot = slots[key] = Slot(key[0], find_store)
    slot.ancestry |= node.ancestry
    slot.tops.append(node)
