"""Writes through NumPy: an array that shares a tensor's memory is written without torch's knowing."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import zlib
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from .books import Books, Write
from .places import Captured, capture

LARGEST, MOST = 1 << 20, 64  # bytes of a storage that is looked at, and how many
NUMPY = "numpy"  # the name of such a write's operation


class Shared:
    """A storage that an array shares.

    Attributes:
        start, size: where it is.
        checksum: of what was in it when it was last looked at.
        stack: where the program was then.
    """

    __slots__ = ("checksum", "size", "stack", "start")

    def __init__(self, start: int, size: int, stack: Captured) -> None:
        self.start, self.size, self.stack = start, size, stack
        self.checksum = _checksum(start, size)


class Aliases:
    """The storages that arrays share."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.shared: dict[int, Shared] = {}

    def share(self, tensor: Any) -> None:
        """Notes that an array shares the memory of a tensor."""
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            return
        storage = tensor.untyped_storage()
        if storage.nbytes() <= LARGEST and len(self.shared) < MOST:
            stack = capture(sys._getframe(2), self.books.base)
            self.shared[storage._cdata] = Shared(storage.data_ptr(), storage.nbytes(), stack)

    def look(self, tensors: Any, makers: list[int]) -> None:
        """Looks whether what these tensors share was written since the last look, and notes the write.

        Args:
            tensors: what an operation is about to use.
            makers: the ticks of the operation's own nodes: they save what is there now.
        """
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                try:
                    storage = tensor.untyped_storage()
                except (RuntimeError, NotImplementedError):
                    continue
                if storage._cdata in self.shared:
                    self.look_at(storage._cdata, storage.data_ptr(), storage.nbytes(), makers, sys._getframe(2))

    def look_at(self, storage: int, start: int, size: int, makers: list[int], frame: FrameType) -> None:
        """Looks at one storage."""
        known = self.shared[storage]
        if (known.start, known.size) != (start, size):  # another one, in the same place
            del self.shared[storage]
            return
        stack = capture(frame, self.books.base)
        now = _checksum(start, size)
        if now != known.checksum:
            write = Write(self.books.tick(), 0, False, NUMPY, stack, makers, (0, size))
            write.changed, write.after = True, known.stack
            self.books.wrote(storage, write)
        known.checksum, known.stack = now, stack

    def settle(self, storage: int) -> None:
        """Takes what is in a storage for what should be, after a write of torch's own."""
        known = self.shared.get(storage)
        if known is not None:
            known.checksum = _checksum(known.start, known.size)


def _checksum(start: int, size: int) -> int:
    return zlib.crc32(ctypes.string_at(start, size)) if size else 0


@contextlib.contextmanager
def watched(aliases: Aliases) -> Iterator[None]:
    """Notes which tensors share their memory with arrays, while it is entered."""
    kind: Any = torch.Tensor
    module: Any = torch
    inherited = "numpy" not in vars(kind)
    numpy, from_numpy = kind.numpy, module.from_numpy

    def to_array(tensor: Any, *arguments: Any, **named: Any) -> Any:
        array = numpy(tensor, *arguments, **named)
        aliases.share(tensor)
        return array

    def from_array(array: Any) -> Any:
        tensor = from_numpy(array)
        aliases.share(tensor)
        return tensor

    kind.numpy, module.from_numpy = to_array, from_array
    try:
        yield
    finally:
        module.from_numpy = from_numpy
        if inherited:
            del kind.numpy
        else:
            kind.numpy = numpy
