"""A dispatch mode that notes every write in place, with the memory it goes to and the line it comes from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.graph import increment_version
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from .aliases import Aliases
from .books import Books, Write, span_of
from .places import capture

SMALL = 4096  # numbers


class Writes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes writes; everything passes through unchanged."""

    supports_higher_order_operators = True

    def __init__(self, books: Books) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.books = books
        self.aliases: Aliases | None = None
        self._positions: dict[Any, tuple[Any, ...]] = {}  # by operation: which arguments it writes

    def on(self) -> None:
        """Switches it on, inside all modes that are on."""
        self.__enter__()  # type: ignore[no-untyped-call]

    def off(self) -> None:
        """Switches it off; it must be the innermost one."""
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def is_on(self) -> bool:
        """Whether it is the innermost mode that is on."""
        return _get_current_dispatch_mode() is self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        books = self.books
        makers = books.fresh
        if makers:
            books.fresh = []
        if self.aliases is not None and self.aliases.shared:
            self.aliases.look(args, makers)
        written = self._positions.get(func)
        if written is None:
            written = self._positions[func] = _written_arguments(func)
        if not written:
            return func(*args, **kwargs) if kwargs else func(*args)
        kwargs = kwargs or {}
        targets = list(_targets(written, args, kwargs))
        before = [tensor._version if not tensor.is_inference() else 0 for tensor in targets]
        values = [_small_copy(tensor) for tensor in targets] if len(targets) == 1 else ()
        result = func(*args, **kwargs)
        if targets:
            self._note(func, targets, before, makers)
            if values and values[0] is not None:
                log = books.writes.get(targets[0].untyped_storage()._cdata)
                if log:
                    log[-1].changed = not torch.equal(values[0], targets[0])
        return result

    def _note(self, func: Any, targets: list[Any], before: list[int], makers: list[int]) -> None:
        books = self.books
        stack = capture(sys._getframe(2), books.base)
        tick, op = books.tick(), str(func)
        many, fused = "_foreach_" in op, "_fused_" in op
        for tensor, version in zip(targets, before):
            try:
                storage = tensor.untyped_storage()._cdata
                span = span_of(tensor)
            except (RuntimeError, NotImplementedError, AttributeError):  # sparse tensors, wrappers without memory
                continue
            if many and not tensor.is_inference() and tensor._version == version:
                # without a mode, each tensor's own operation would have raised it; fused kernels never do
                increment_version(tensor)
            if self.aliases is not None and storage in self.aliases.shared:
                self.aliases.settle(storage)
            books.wrote(storage, Write(tick, version + 1, not fused, op, stack, makers, span))


# torch wraps the handler, to keep its compiler out of it, which costs more than the handler; nothing is compiled here
_handler = vars(Writes)["__torch_dispatch__"]
setattr(Writes, "__torch_dispatch__", getattr(_handler, "__wrapped__", _handler))  # noqa: B010


def _written_arguments(func: Any) -> tuple[Any, ...]:
    schema = getattr(func, "_schema", None)
    if schema is None:  # a higher-order operator
        return ()
    found: list[Any] = []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found.append((position, argument.name))
    return tuple(found)


def _small_copy(tensor: Any) -> Any:
    """The values before a write that may be one behind torch's back, as that of an alias is, if it costs nothing."""
    if tensor.requires_grad or tensor.device.type != "cpu" or tensor.numel() > SMALL or tensor.layout != torch.strided:
        return None
    return tensor.clone() if type(tensor) is torch.Tensor and not tensor.is_inference() else None


def _targets(written: tuple[Any, ...], args: Any, kwargs: Any) -> Iterator[Any]:
    for position, name in written:
        value = args[position] if position < len(args) else kwargs.get(name)
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, torch.Tensor):
                    yield item
