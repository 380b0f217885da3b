"""A long data file of torch's, of which the entries of one op are read when somebody asks for that op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Entries(Mapping[str, T]):
    """What a file says of each op, by the op's name.

    Args:
        blocks: the entries as they are written, each beginning with a schema such as ``add.Tensor(Tensor self, …``.
        read: makes what is wanted of all entries of one op.
    """

    def __init__(self, blocks: Iterable[str], read: Callable[[list[str]], T]) -> None:
        self._blocks: dict[str, list[str]] = {}
        self._known: dict[str, T] = {}
        self._read = read
        for block in blocks:
            name = block[: block.find("(")].strip().partition(".")[0]
            self._blocks.setdefault(name, []).append(block)

    def __getitem__(self, name: str) -> T:
        if name not in self._known:
            self._known[name] = self._read(self._blocks[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)
