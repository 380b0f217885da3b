"""The books of a run: when each node was made, and who wrote which memory when."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from types import FrameType
from typing import Any

from .places import Captured

_clock = itertools.count(1)  # one for all: nodes of an earlier probe may still be there
MARK = re.compile("\x1fgradsense:(\\d+)\x1f")


class Note(list):  # type: ignore[type-arg]
    """What anomaly mode keeps for each node, in place of a formatted traceback.

    torch prints it when a walk fails, so the number in it says which node failed.

    Attributes:
        tick: the moment of the node's making.
        stack: the program's stack at that moment.
        hooked: whether saved-tensor hooks were on: reading such a node's saved tensors would call them.
        freed_by: the walk that freed what the node had saved.
    """

    __slots__ = ("freed_by", "hooked", "partly", "stack", "tick")

    def __init__(self, tick: int, stack: Captured, hooked: bool) -> None:
        super().__init__((f"\x1fgradsense:{tick}\x1f\n",))
        self.tick, self.stack, self.hooked = tick, stack, hooked
        self.freed_by: Captured | None = None
        self.partly = False


class Write:
    """One write in place.

    Attributes:
        tick: the moment.
        version: the version that the written tensor had afterwards.
        bumped: whether the write raised the tensor's version.
        op: the name of the operation, such as `aten.add_.Tensor`.
        stack: the program's stack.
        makers: the ticks of the nodes that were made since the operation before: those of the writing one itself.
        changed: whether the values are others now; None where nobody looked.
        after: of a write that was noticed late, the stack where all was still well.
        span: the bytes that were written, from and to, as offsets in the storage.
    """

    __slots__ = ("after", "bumped", "changed", "makers", "op", "span", "stack", "tick", "version")

    def __init__(
        self, tick: int, version: int, bumped: bool, op: str, stack: Captured, makers: list[int], span: tuple[int, int]
    ) -> None:
        self.tick, self.version, self.bumped, self.op = tick, version, bumped, op
        self.stack, self.makers, self.span = stack, makers, span
        self.changed: bool | None = None
        self.after: Captured = ()


class Books:
    """Everything noted while the program runs, on one clock.

    Attributes:
        fresh: the ticks of the nodes that were made since the last operation.
        nodes: how many nodes were made.
        writes: the writes to each storage, oldest first.
        hooks: how many saved-tensor hooks are on.
        paused: whether nothing is noted for the time being.
        base: the frame that the program runs in: what is further out is not of interest.
    """

    MOST, LONGEST = 40_000, 4096  # storages remembered, and writes to one of them

    def __init__(self) -> None:
        self.tick: Callable[[], int] = _clock.__next__
        self.fresh: list[int] = []
        self.nodes = 0
        self.writes: dict[int, list[Write]] = {}
        self.hooks = 0
        self.paused = False
        self.base: FrameType | None = None

    def note(self, stack: Captured) -> Note:
        """Notes a node that is being made."""
        tick = self.tick()
        self.nodes += 1
        self.fresh.append(tick)
        return Note(tick, stack, self.hooks > 0)

    def wrote(self, storage: int, write: Write) -> None:
        """Notes a write."""
        log = self.writes.get(storage)
        if log is None:
            if len(self.writes) >= self.MOST:
                for old in list(self.writes)[: self.MOST // 2]:
                    del self.writes[old]
            log = self.writes[storage] = []
        log.append(write)
        if len(log) > self.LONGEST:
            del log[: self.LONGEST // 2]

    def writes_since(self, storage: int, tick: int) -> list[Write]:
        """Writes to a storage after a node saved it, without those of the node's own operation."""
        return [write for write in self.writes.get(storage, ()) if write.tick > tick and tick not in write.makers]


def note_of(node: Any) -> Note | None:
    """The note of a graph node, if it was made while the probe was on."""
    found = node.metadata.get("traceback_")
    return found if isinstance(found, Note) else None


def span_of(tensor: Any) -> tuple[int, int]:
    """The bytes of its storage that a strided tensor can reach."""
    size = tensor.element_size()
    first = tensor.storage_offset() * size
    if tensor.numel() == 0:
        return first, first
    reach = sum((length - 1) * stride for length, stride in zip(tensor.size(), tensor.stride()))
    return first, first + (reach + 1) * size
