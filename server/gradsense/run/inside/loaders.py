"""Data loaders while a step is run: a few batches, and no worker processes."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch.utils.data import DataLoader

from .loops import Loops
from .places import Places, capture


class Loaders:
    """Cuts every data loader short while it is entered.

    Args:
        batches: how many batches each iteration yields; 0 leaves them alone.
        notes: is told what was changed.
        loops, places: batches that a library goes through, such as a trainer, count as passes of a loop on the line
            that called it.
    """

    def __init__(self, batches: int, notes: list[str], loops: Loops, places: Places) -> None:
        self.batches, self.notes, self.loops, self.places = batches, notes, loops, places

    def __enter__(self) -> Loaders:
        self._real = real = DataLoader.__iter__
        batches, notes = self.batches, self.notes

        def iterate(loader: Any) -> Any:
            kept = {name: loader.__dict__[name] for name in ("num_workers", "timeout") if name in loader.__dict__}
            try:
                if kept.get("num_workers"):
                    loader.num_workers, loader.timeout = 0, 0
                    note = "data loaders ran without worker processes"
                    if note not in notes:
                        notes.append(note)
                items: Any = real(loader)
            finally:
                for name, value in kept.items():
                    setattr(loader, name, value)
            items = _Batches(items, batches) if batches else items
            return self._watched(items, sys._getframe(1))

        DataLoader.__iter__ = iterate  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        DataLoader.__iter__ = self._real  # type: ignore[method-assign]

    def _watched(self, items: Any, frame: FrameType) -> Any:
        place = self.places.innermost(capture(frame, self.loops.books.base))
        if place is None or self.places.is_user(frame.f_code.co_filename):
            return items
        return self.loops.watch(items, place.path, place.line, foreign=True)


class _Batches:
    """The first batches of a loader's iterator."""

    def __init__(self, items: Any, left: int) -> None:
        self._items, self._left = items, left

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        return next(self._items)

    def __len__(self) -> int:
        return min(self._left, len(self._items))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._items, name)
