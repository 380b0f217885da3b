"""What a sample is, and short ways to write one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opsmeasure.naming import canonical


@dataclass
class Sample:
    """One call as written by a user."""

    name: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    ours: bool = False
    """Whether it is one of our own; those stand for the usual ways to call an op, op_db's for the corners too."""


def call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Sample:
    """Our own sample of a torch function or method.

    Raises:
        ValueError: where the function is none of torch's public ones.
    """
    name = canonical(func)
    if name is None:
        raise ValueError(f"{func} has no public name")
    return Sample(name, func, args, kwargs, ours=True)


def rand(*sizes: int) -> torch.Tensor:
    """A float tensor in [0.1, 0.9], inside the domain of every elementwise op."""
    return torch.rand(*sizes) * 0.8 + 0.1


def ints(high: int, *sizes: int) -> torch.Tensor:
    """An int64 tensor of indices below ``high``."""
    return torch.randint(high, sizes)


def mask(*sizes: int) -> torch.Tensor:
    """A bool tensor that holds both values."""
    return torch.arange(torch.Size(sizes).numel()).reshape(sizes) % 2 == 0


def strided(*sizes: int) -> torch.Tensor:
    """A float tensor that is not contiguous."""
    return rand(*reversed(sizes)).permute(*reversed(range(len(sizes))))
