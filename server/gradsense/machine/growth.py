"""What grows from pass to pass of a loop, and which of that is to be told.

A slot that holds more after the second pass than after the first, and more after the third than after the second, keeps
every pass's graph.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradsense.machine.alive import SlotKey, alive
from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Node, Store
from gradsense.machine.library import in_place
from gradsense.machine.place import Place, PlaceKey, carried_from
from gradsense.machine.trees import nodes_of

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


# Deeper than calls go.
DEPTH_OF_ALL = 1 << 16


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
        if growth.store is not None and (later or _is_handed_over(growth, reaches[id(growth)], escaped)):
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
        # A loop that is walked after one of its runs, or may be by unseen code, builds a graph, whatever its other runs
        # are for.
        if growth.store is None or growth.store.place.key in built:
            continue
        if len(growth.where.stack) > around[growth.key, growth.store.place.key]:
            # What a loop in a callee puts there grows with the loop around the call.
            continue
        reach = reaches[id(growth)]
        if any(_walked_later_pass(n) for n in reach):
            continue
        new = [n for n in reach if n.accumulates is None and growth.new >> n.index & 1]
        if all(n.output is not None and n.output.base is not None for n in new):
            # Views of a tensor that lives on by itself hold nothing of their own.
            continue
        if attempted is not None and attempted[0] > growth.order and any(n in attempted[1] for n in growth.tops):
            continue
        walked = any(n.walked is not None and n.accumulates is None for n in reach)
        if not walked and not any(n.sure for n in reach if n.accumulates is None):
            continue
        if not walked and not any(n.accumulates is not None and not n.accumulates.phantom for n in reach):
            continue
        survives = any(n.ancestry and left & n.ancestry == n.ancestry for n in growth.tops)
        newest = max(growth.tops, key=lambda n: n.order)
        store = _in_loop(growth.store, growth.loop, newest)
        quiet = not any(growth.started < w.order and w.oldest < growth.order for w in machine.walks)
        if quiet and (newest.copies_slices or in_place.is_partial_write(newest.op)):
            # A table that is filled row by row is as large as it was made, and computed from all that fills it.
            continue
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
            quiet=quiet,
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


def _is_handed_over(growth: Growth, reach: dict[Node, None], escaped: int) -> bool:
    """Whether unseen code got hold of what a slot keeps, which no walk had freed."""
    if any(n.freed is not None and n.freed.order < growth.order and n.raises_when_walked_twice for n in reach):
        return False
    return any(n.ancestry and n.ancestry & escaped == n.ancestry for n in growth.tops)


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
