"""Watching the passes of a loop: what grows from one to the next, and whether one more would come to anything new."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.alive import Slot, SlotKey, alive
from gradsense.machine.graph import Store
from gradsense.machine.growth import Growth
from gradsense.machine.tri import NO
from gradsense.machine.values import DictValue, Instance, ListValue, LoopIndex, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


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

    def _only_looked(self) -> bool:
        """Whether the pass was one of an evaluation: without grad mode it made no graph, and nothing else to keep."""
        done = [after - before for before, after in zip(self._work_before[:4], self._work()[:4], strict=True)]
        return self.machine.grad_mode is NO and not any(done)

    def pass_done(self) -> None:
        """Takes the measure at the end of a pass."""
        if not self.active:
            # Two steps of a forward show what one of them does to the other.
            self.is_steady = self._passes > 0 and self._nothing_new() and not self._compared()
            self._passes += 1
            self._begin_pass()
            return
        if len(self.measures) >= 3 and not self._compared():
            return
        machine = self.machine
        slots = alive(machine) if machine.node_count > self.first_node else {}
        indices = machine.index_looks > self._index_looks
        measure = Measure(slots, _numbers(machine, indices) if self._compared() else None)
        before = self.measures[-1] if self.measures else machine.settled.get(self._spot) if self._spot else None
        self.measures.append(measure)
        if before is not None:
            self.is_steady = self._nothing_new() and (self._only_looked() or measure.is_like(before))
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
        machine = self.machine
        for key in self.measures[-1].slots:
            levels = self._levels(key)
            if levels is None:
                continue
            start, before, slot = levels
            new = slot.ancestry & ~before.ancestry
            if not new >> self.first_node:
                continue
            if start is not None and not (start.ancestry & slot.ancestry) >> self.first_node:
                # What the first pass left was let go of.
                continue
            store = slot.find_store()
            if start is not None and self._is_full(store):
                newest = max(slot.tops, key=lambda node: node.order)
                if not (start.ancestry & newest.ancestry) >> self.first_node:
                    # A full `deque` lets go of it too, a few passes later.
                    continue
            machine.growths.append(
                Growth(
                    key,
                    slot.kind,
                    self.loop,
                    list(slot.tops),
                    new,
                    store,
                    machine.tick(),
                    machine.short_loop,
                    machine.here(self.loop),
                    slot.ancestry.bit_count() - before.ancestry.bit_count(),
                    self.started,
                    bool(machine.epoch),
                    before.ancestry & slot.ancestry,
                    all(slot.ancestry >> node.index & 1 for node in before.tops),
                )
            )

    def _is_full(self, store: Store | None) -> bool:
        """Whether it is a container that lets go of the oldest for each new one."""
        container = store.container if store is not None else None
        most = container.maximum if isinstance(container, ListValue) else None
        return most is not None and most <= len(self.measures)

    def _levels(self, key: SlotKey) -> tuple[Slot | None, Slot, Slot] | None:
        """What a slot held when it held less, when it held more, and when it held still more; None if it did not grow.

        Where a number decides which passes put something there, there may be passes between these.
        """
        held: list[tuple[int, Slot | None]] = []
        for measure in self.measures:
            slot = measure.slots.get(key)
            count = slot.ancestry.bit_count() if slot else 0
            if held and count < held[-1][0]:
                return None
            if not held or count > held[-1][0]:
                held.append((count, slot))
        if len(held) < 3:
            return None
        (_, start), (_, before), (_, after) = held[:3]
        assert before is not None and after is not None
        return start, before, after
