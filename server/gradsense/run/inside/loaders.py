"""Data loaders while a step is run: a few batches, and no worker processes."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader


class Loaders:
    """Cuts every data loader short while it is entered.

    Args:
        batches: how many batches each iteration yields; 0 leaves them alone.
        notes: is told what was changed.
    """

    def __init__(self, batches: int, notes: list[str]) -> None:
        self.batches, self.notes = batches, notes

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
                items = real(loader)
            finally:
                for name, value in kept.items():
                    setattr(loader, name, value)
            return _Batches(items, batches) if batches else items

        DataLoader.__iter__ = iterate  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        DataLoader.__iter__ = self._real  # type: ignore[method-assign]


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
