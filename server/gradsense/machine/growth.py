"""What stays alive after each pass of a loop, and whether it grows.

Every variable, attribute and container is a slot; what a slot holds is the set of graph nodes reachable from its
tensors, as one integer. A slot that holds more after the second pass than after the first, and more after the third
than after the second, keeps every pass's graph.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gradsense.machine.events import GraphGrows
from gradsense.machine.frames import Frame
from gradsense.machine.graph import Node, Store, Tensor
from gradsense.machine.place import Place, PlaceKey, carried_from
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
    LoopIndex,
    Partial,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

SlotKey = tuple[str, int, str]
# Deeper than calls go.
DEPTH_OF_ALL = 1 << 16


class Slot:
    """What one variable, attribute or container keeps alive."""

    __slots__ = ("ancestry", "find_store", "kind", "tops")

    def __init__(self, kind: str, find_store: Callable[[], Store | None]) -> None:
        self.kind = kind
        self.find_store = find_store
        self.ancestry = 0
        self.tops: list[Node] = []


class Measure:
    """What is there at the end of a pass.

    Args:
        slots: what keeps graphs alive.
        numbers: see `_numbers`; None where the pass did not look at any.
    """

    __slots__ = ("_numbers", "_sizes", "slots")

    def __init__(self, slots: dict[SlotKey, Slot], numbers: list[tuple[str, object]] | None) -> None:
        self.slots = slots
        # A call's scope is another one each time it is called.
        self._sizes = sorted((key[0], key[2], slot.ancestry.bit_count()) for key, slot in slots.items())
        self._numbers = numbers

    def is_like(self, other: Measure) -> bool:
        """Whether as much is kept alive as in another, by the same names; with the same numbers, where they matter."""
        return self._sizes == other._sizes and (self._numbers is None or self._numbers == other._numbers)


def _numbers(machine: Machine, indices: bool) -> list[tuple[str, object]]:
    """The whole numbers that variables and attributes of live scopes hold, and how many things their containers do.

    Args:
        indices: whether the indices of loops of unknown length count, too.
    """
    found: list[tuple[str, object]] = []
    seen: set[int] = set()

    def look(name: str, value: Value) -> None:
        if type(value) is int:
            found.append((name, value))
        elif indices and isinstance(value, LoopIndex):
            found.append((name, value.position))
        elif isinstance(value, (ListValue, DictValue)):
            found.append((name, len(value.items)))
        elif isinstance(value, Instance) and value.kind is None and id(value) not in seen:
            seen.add(id(value))
            for attribute, part in value.attributes.items():
                look(attribute, part)

    for frame in {id(frame): frame for frame in (*machine.frames, machine.frame)}.values():
        for name, value in frame.variables.items():
            look(name, value)
    return found


@dataclass(eq=False)
class Growth:
    """A slot that grew in three passes.

    Attributes:
        older: what it keeps of earlier passes.
        carries: whether what it held after the pass before is a part of what it holds now. Another slot may only hold
            what was computed from such a one.
    """

    key: SlotKey
    kind: str
    loop: ast.AST
    tops: list[Node]
    new: int
    store: Store | None
    order: int
    short: bool
    where: Place
    nodes_per_pass: int
    started: int
    nested: bool
    older: int
    carries: bool


class Tracker:
    """Watches the slots over the passes of one loop.

    Attributes:
        is_steady: whether one more pass would come to what the one before came to.
    """

    def __init__(self, machine: Machine, loop: ast.AST, passes: int) -> None:
        self.machine = machine
        self.loop = loop
        self.first_node = machine.node_count
        self.started = machine.order
        self.measures: list[Measure] = []
        # In a forward, or in a loop that ends before it can grow, nothing is watched.
        self.active = machine.forward_depth == 0 and passes >= 3
        self.is_steady = False
        self._passes = 0
        self._around, machine.tracker = machine.tracker, self
        self._first_work = self._work()
        self._begin_pass()
        # The loop around, in this run of it, and the calls that led here.
        around = machine.epoch[-1][0] if machine.epoch else None
        self._spot = (loop, around, *(place.node for place in machine.stack)) if around is not None else None

    def _begin_pass(self) -> None:
        machine = self.machine
        self._events, self._branches = len(machine.events), len(machine.branches)
        self._looks, self._index_looks = machine.number_looks, machine.index_looks
        self._work_before = self._work()
        # What of the pass was done in loops inside, which came to be steady.
        self._work_inside = [0] * len(self._work_before)

    def _work(self) -> list[int]:
        """How much of all that can matter to a later pass was done so far."""
        machine = self.machine
        return [
            machine.node_count,
            len(machine.walks),
            len(machine.steps),
            machine.attributes_set,
            machine.number_looks + machine.index_looks,
            len(machine.events),
        ]

    def _done_inside(self) -> bool:
        """Whether all that the pass did was done in loops inside of this one that were run until they were steady."""
        done = [after - before for before, after in zip(self._work_before, self._work(), strict=True)]
        return done[0] > 0 and done == self._work_inside

    def pass_done(self) -> None:
        """Takes the measure at the end of a pass."""
        if not self.active:
            # Two steps of a forward show what one of them does to the other.
            self.is_steady = self._passes > 0 and self._nothing_new() and not self._compared()
            self._passes += 1
            self._begin_pass()
            return
        if len(self.measures) >= 3:
            return
        machine = self.machine
        slots = alive(machine) if machine.node_count > self.first_node else {}
        indices = machine.index_looks > self._index_looks
        measure = Measure(slots, _numbers(machine, indices) if self._compared() else None)
        before = self.measures[-1] if self.measures else machine.settled.get(self._spot) if self._spot else None
        self.measures.append(measure)
        if before is not None:
            self.is_steady = self._nothing_new() and measure.is_like(before)
        else:
            self.is_steady = self._done_inside()
        if self._spot is not None:
            machine.settled[self._spot] = measure
        self._begin_pass()

    def _compared(self) -> bool:
        """Whether the pass looked at a number."""
        machine = self.machine
        return machine.number_looks > self._looks or machine.index_looks > self._index_looks

    def _nothing_new(self) -> bool:
        """Whether the pass met nothing that was not met before it."""
        machine = self.machine
        if len(machine.branches) > self._branches:
            return False
        if len(machine.events) == self._events:
            return True
        known = {event.key for event in machine.events[: self._events]}
        return all(event.key in known for event in machine.events[self._events :])

    @property
    def walked(self) -> bool:
        """Whether it walks a graph in its passes."""
        return self._work()[1] > self._first_work[1]

    def finish(self, over_modules: bool) -> None:
        """The loop is over: notes the slots that grew."""
        around = self.machine.tracker = self._around
        if around is not None and self.is_steady:
            done = [after - before for before, after in zip(self._first_work, self._work(), strict=True)]
            around._work_inside = [one + more for one, more in zip(around._work_inside, done, strict=True)]
        if len(self.measures) < 3 or over_modules:
            return
        first, second, third = (measure.slots for measure in self.measures[:3])
        machine = self.machine
        for key, slot in third.items():
            before = second.get(key)
            if before is None:
                continue
            start = first.get(key)
            counts = (
                start.ancestry.bit_count() if start else 0,
                before.ancestry.bit_count(),
                slot.ancestry.bit_count(),
            )
            if not counts[0] < counts[1] < counts[2]:
                continue
            new = slot.ancestry & ~before.ancestry
            if not new >> self.first_node:
                continue
            if start is not None and not (start.ancestry & slot.ancestry) >> self.first_node:
                # What the first pass left was let go of.
                continue
            machine.growths.append(
                Growth(
                    key,
                    slot.kind,
                    self.loop,
                    list(slot.tops),
                    new,
                    slot.find_store(),
                    machine.tick(),
                    machine.short_loop,
                    machine.here(self.loop),
                    counts[2] - counts[1],
                    self.started,
                    bool(machine.epoch),
                    before.ancestry & slot.ancestry,
                    all(slot.ancestry >> node.index & 1 for node in before.tops),
                )
            )


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
                if key[0] == "container" and not value.is_module:
                    todo.append((key, part, find_store, depth + 1))
                else:
                    todo.append((("attribute", id(value), name), part, _stored(value.stores, name), depth + 1))
            if value.children is not None:
                todo.append((key, value.children, find_store, depth + 1))
            if value.cls is not None:
                todo.append((key, value.cls, find_store, depth + 1))
            for hook in value.forward_hooks:
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


def conclude(machine: Machine) -> None:
    """Reports the growths that nothing excuses, when the path is over.

    A sum that is walked later, what unseen code took, and graphs without parameters are no findings.
    """
    if not machine.growths:
        return
    escaped = 0
    for node in machine.escaped:
        escaped |= node.ancestry
    machine.frames = [machine.file_frame]
    machine.frame = machine.file_frame
    left = 0
    for slot in alive(machine).values():
        left |= slot.ancestry
    built: set[tuple[object, ...]] = set()
    reaches: dict[int, dict[Node, None]] = {}
    for growth in machine.growths:
        reaches[id(growth)] = machine.below(growth.tops)
    for growth in machine.growths:
        later = any(
            n.walked is not None and n.walked.order > growth.order and n.accumulates is None
            for n in reaches[id(growth)]
        )
        if growth.store is not None and later:
            built.add(growth.store.place.key)
    attempted = _attempted(machine)
    detached = 0
    for node in machine.cut_nodes:
        detached |= node.ancestry
    around: dict[tuple[SlotKey, PlaceKey], int] = {}
    for growth in machine.growths:
        if growth.store is not None:
            one = (growth.key, growth.store.place.key)
            around[one] = min(around.get(one, DEPTH_OF_ALL), len(growth.where.stack))
    unwalked: dict[int, GraphGrows] = {}
    carried: dict[int, int] = {}
    for growth in sorted(machine.growths, key=lambda growth: (not growth.carries, not _feeds_itself(growth))):
        explained = carried.get(id(growth.loop), 0)
        if not growth.carries and growth.older & explained == growth.older:
            continue
        # A loop that is walked after one of its runs builds a graph, whatever its other runs are for.
        if growth.store is None or growth.store.place.key in built:
            continue
        if len(growth.where.stack) > around[growth.key, growth.store.place.key]:
            # What a loop in a callee puts there grows with the loop around the call.
            continue
        reach = reaches[id(growth)]
        if any(_walked_later_pass(n) for n in reach):
            continue
        if attempted is not None and attempted[0] > growth.order and any(n in attempted[1] for n in growth.tops):
            continue
        freed = any(n.freed is not None and n.freed.order < growth.order and n.raises_when_walked_twice for n in reach)
        taken = any(n.ancestry and n.ancestry & escaped == n.ancestry for n in growth.tops)
        if taken and not freed:
            continue
        walked = any(n.walked is not None and n.accumulates is None for n in reach)
        if not walked and not any(n.sure for n in reach if n.accumulates is None):
            continue
        if not walked and not any(n.accumulates is not None and not n.accumulates.phantom for n in reach):
            continue
        survives = any(n.ancestry and left & n.ancestry == n.ancestry for n in growth.tops)
        newest = max(growth.tops, key=lambda n: n.order)
        store = _in_loop(growth.store, growth.loop, newest)
        event = GraphGrows(
            place=store.place,
            store=store,
            slot=growth.kind,
            loop=growth.loop,
            where=growth.where,
            nodes_per_pass=growth.nodes_per_pass,
            walked=walked,
            retained=any(n.walked is not None and n.freed is None and n.raises_when_walked_twice for n in reach),
            value=newest.output,
            kept=tuple(n.output for n in growth.tops if n.output is not None and growth.new >> n.index & 1),
            short=not walked and (growth.short or machine.is_unit) and not survives,
            evaluation=_outside_forward(reach, store) if not walked else None,
            quiet=not any(growth.started < w.order and w.oldest < growth.order for w in machine.walks),
        )
        event.sure = any(n.sure for n in reach if n.accumulates is None)
        lines: list[tuple[Place, str]] = []
        for node in sorted(reach, key=lambda n: -n.order)[:40]:
            if node.accumulates is None and len(lines) < 10 and node.op != "view":
                lines.append((node.place, f"`{node.op}` made here"))
                lines += [(p, "called here") for p in node.place.stack[-2:]]
        event.also = lines + [(p, "called here") for p in growth.where.stack]
        if not walked and machine.ended_early:
            continue
        if growth.carries:
            carried[id(growth.loop)] = explained | growth.older
        if (
            growth.nested
            and not walked
            and any(n.ancestry and n.ancestry & detached == n.ancestry for n in growth.tops)
        ):
            # A rollout that is cut off afterwards: it costs, and is let go of.
            event.short = True
        if not walked:
            # One loop without `no_grad` is one thing to mend, however many names it keeps.
            first = unwalked.get(id(growth.loop))
            if first is not None:
                first.short = first.short or event.short
                first.also.insert(0, (event.store.place, f"`{event.store.name}` keeps it as well"))
                continue
            unwalked[id(growth.loop)] = event
        machine.events.append(event)


def _feeds_itself(growth: Growth) -> bool:
    """Whether a variable is computed from its own old value: of `out, h = rnn(x, h)` it is `h`."""
    store = growth.store
    if store is None or store.kind != "name":
        return False
    for statement in nodes_of(growth.loop):
        if isinstance(statement, ast.Assign) and any(n is store.place.node for n in nodes_of(statement.targets[0])):
            return any(isinstance(n, ast.Name) and n.id == store.name for n in nodes_of(statement.value))
    return False


def _walked_later_pass(node: Node) -> bool:
    """Whether a later pass walked what an earlier one made, and let it go: a window of passes."""
    walk = node.walked
    return (
        walk is not None
        and node.accumulates is None
        and not walk.retain
        and node.freed is walk
        and carried_from(node.epoch, walk.epoch)
        and bool(walk.epoch)
        and len(node.epoch) == len(walk.epoch)
    )


def _in_loop(store: Store, loop: ast.AST, newest: Node) -> Store:
    """The store itself, or the write in place that adds to what was stored before the loop: `total.add_(loss)`."""
    written = newest.output.stores[-1] if newest.output is not None and newest.output.stores else None
    inside = {id(node) for node in nodes_of(loop)}
    if written is None or id(store.place.node) in inside or id(written.place.node) not in inside:
        return store
    return written if written.name == store.name else store


def _attempted(machine: Machine) -> tuple[int, dict[Node, None]] | None:
    """The walk that the path ended in, if it did: when it began, and what it would have gone through."""
    if not machine.ended_early or not machine.walks or machine.walks[-1].root is None:
        return None
    walk = machine.walks[-1]
    assert walk.root is not None
    return walk.order, machine.below([machine.edge(walk.root)])


def _outside_forward(reach: dict[Node, None], store: Store) -> Place | None:
    """The call, in the frame of the store, that built what is kept: where a `no_grad` belongs."""
    depth = len(store.place.stack)
    for node in sorted(reach, key=lambda n: n.order, reverse=True):
        own = node.place.stack
        if (
            node.accumulates is None
            and len(own) > depth
            and all(a.node is b.node for a, b in zip(own, store.place.stack, strict=False))
        ):
            return own[depth]
    return None
