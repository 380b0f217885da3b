"""Puts a namespace's models, optimizers and random numbers back as they were before a step."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim import Optimizer

DEEPEST = 4


class Snapshot:
    """Remembers the state of everything that a step changes: parameters, buffers, gradients, optimizers, schedulers,
    gradient scalers, whether modules are in training mode, and all generators of random numbers.

    Containers and objects in the namespace are looked into. Other attributes and variables are left alone.

    Args:
        namespace: the variables to look through.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._undo: list[Callable[[], None]] = []
        modules, optimizers, others, tensors = _holdings(namespace)
        for module in modules:
            self._undo.append(_modes_of(module))
            tensors.extend([*module.parameters(), *module.buffers()])
        seen: set[int] = set()
        for tensor in tensors:
            if id(tensor) not in seen and not tensor.is_inference() and tensor.layout == torch.strided:
                seen.add(id(tensor))
                self._undo.append(_values_of(tensor))
        self._undo += [_state_of(item) for item in [*optimizers, *others]]
        self._undo += list(_generators())

    def restore(self) -> None:
        """Puts everything back. It may be called more than once."""
        for undo in self._undo:
            undo()


def _values_of(tensor: Any) -> Callable[[], None]:
    values, needs_grad = tensor.detach().clone(), tensor.requires_grad
    grad = tensor.grad if tensor.is_leaf else None
    kept = grad.detach().clone() if grad is not None else None

    def undo() -> None:
        with torch.no_grad():
            if tensor.shape == values.shape and tensor.device == values.device and tensor.dtype == values.dtype:
                tensor.copy_(values)
            else:
                tensor.data = values.clone()
        if tensor.is_leaf:
            tensor.requires_grad_(needs_grad)
            tensor.grad = kept.clone() if kept is not None else None

    return undo


def _modes_of(module: Any) -> Callable[[], None]:
    modes = [(item, item.training) for item in module.modules()]

    def undo() -> None:
        for item, training in modes:
            item.training = training

    return undo


def _state_of(item: Any) -> Callable[[], None]:
    state = copy.deepcopy(item.state_dict())
    return lambda: item.load_state_dict(copy.deepcopy(state))


def _generators() -> Iterator[Callable[[], None]]:
    python, cpu = random.getstate(), torch.get_rng_state()
    yield lambda: random.setstate(python)
    yield lambda: torch.set_rng_state(cpu)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        legacy = numpy.random.get_state()
        yield lambda: numpy.random.set_state(legacy)
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        states = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(states)


def _holdings(namespace: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """The modules, the optimizers, what else has a state, and the leaves that need grad."""
    modules: list[Any] = []
    optimizers: list[Any] = []
    others: list[Any] = []
    tensors: list[Any] = []
    seen: set[int] = set()

    def look(value: Any, depth: int) -> None:
        if id(value) in seen or isinstance(value, type):
            return
        seen.add(id(value))
        if isinstance(value, torch.nn.Module):
            modules.append(value)
        elif isinstance(value, Optimizer):
            optimizers.append(value)
            tensors.extend(item for group in value.param_groups for item in group["params"])
        elif isinstance(value, torch.Tensor):
            if value.is_leaf and value.requires_grad:
                tensors.append(value)
        elif _has_state(value):
            others.append(value)
        elif depth < DEEPEST:
            if isinstance(value, dict):
                for item in list(value.values()):
                    look(item, depth + 1)
            elif isinstance(value, (list, tuple, set, frozenset)):
                for item in list(value):
                    look(item, depth + 1)
            elif type(value).__module__ not in ("builtins", "numpy", "types") and hasattr(value, "__dict__"):
                for item in list(vars(value).values()):
                    look(item, depth + 1)

    for name, value in list(namespace.items()):
        if not name.startswith("__") and not isinstance(value, type(sys)):
            look(value, 0)
    return modules, optimizers, others, tensors


def _has_state(value: Any) -> bool:
    return callable(getattr(type(value), "state_dict", None)) and callable(
        getattr(type(value), "load_state_dict", None)
    )
