"""Optimizers: their steps are counted, and seen as one write to each parameter instead of op by op."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from .books import Books, Write, span_of
from .places import capture
from .stale import Stale
from .writes import Writes


class Optimizers:
    """Watches all optimizers while it is entered.

    torch's own write to nothing that a graph may need but their parameters; so the mode, which would look at each of a
    thousand small operations, is off while they step, and what they wrote is told from the parameters' versions.
    """

    def __init__(self, books: Books, mode: Writes, stepped: Callable[[], None]) -> None:
        self.books, self.mode, self.stepped = books, mode, stepped
        self.stale = Stale(books)
        self._versions: list[tuple[Any, int]] | None = None

    def __enter__(self) -> Optimizers:
        self._handles = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        self.settle()

    def settle(self) -> None:
        """Switches the mode on again where a step was left by an exception."""
        if self._versions is not None:
            self._versions = None
            self.mode.on()

    def _before(self, optimizer: Optimizer, arguments: Any, named: Any) -> None:
        self.settle()
        if self.books.paused:
            return
        used = [item for group in optimizer.param_groups for item in group["params"] if item.grad is not None]
        self.stale.stepping(used)
        if any(map(callable, [*arguments[1:], *named.values()])) or not self._is_torchs_own(optimizer):
            return  # a closure runs the model
        if any(group.get("differentiable") for group in optimizer.param_groups) or not self.mode.is_on():
            return
        self._versions = [(item, item._version) for item in used]
        self.mode.off()

    def _after(self, optimizer: Optimizer, arguments: Any, named: Any) -> None:
        self.stepped()
        versions, self._versions = self._versions, None
        if versions is None:
            return
        self.mode.on()
        stack, tick = capture(sys._getframe(1), self.books.base), self.books.tick()
        self.stale.stepped([parameter for parameter, _ in versions], stack)
        op = f"{type(optimizer).__name__}.step"
        fused = any(group.get("fused") for group in optimizer.param_groups)
        for parameter, before in versions:
            after = parameter._version
            if after == before and not fused:
                continue  # nothing was written: a step that a gradient scaler has skipped
            write = Write(tick, after, after != before, op, stack, [], span_of(parameter))
            self.books.wrote(parameter.untyped_storage()._cdata, write)

    def _is_torchs_own(self, optimizer: Optimizer) -> bool:
        return type(optimizer).__module__.startswith(torch.optim.__name__)
