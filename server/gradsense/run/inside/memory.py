"""What is alive at the end of a pass."""

from __future__ import annotations

import gc
from typing import Any

import torch

from .graph import read


class Alive:
    """A measurement.

    Attributes:
        nodes: the nodes that tensors hold, by identity.
        saved_tensors, saved_bytes: what these nodes keep for a walk.
        bytes: all memory of tensors, saved ones included, each storage once.
        allocated, reserved: of all GPUs that are in use, as torch counts it.
    """

    def __init__(self) -> None:
        gc.collect()
        tensors = live_tensors()
        graph = read([node for node in map(_node, tensors) if node is not None])
        self.nodes = frozenset(graph.nodes)
        self.saved_tensors, self.saved_bytes = graph.saved_bytes()
        memory = {entry.storage: entry.nbytes for entry in graph.saved}
        for tensor in tensors:
            try:
                storage = tensor.untyped_storage()
                if tensor.device.type != "meta":
                    memory[storage._cdata] = storage.nbytes()
            except (RuntimeError, NotImplementedError, AttributeError):
                continue
        self.bytes = sum(memory.values())
        self.allocated, self.reserved = gpu_memory()


def live_tensors() -> list[Any]:
    """Every tensor that a Python object stands for."""
    return [item for item in gc.get_objects() if issubclass(type(item), torch.Tensor)]


def gpu_in_use() -> bool:
    """Whether this process has touched a GPU."""
    return torch.cuda.is_available() and bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def gpu_memory() -> tuple[int, int]:
    """Bytes allocated and reserved on all GPUs that this process uses."""
    if not gpu_in_use():
        return 0, 0
    devices = range(torch.cuda.device_count())
    return sum(map(torch.cuda.memory_allocated, devices)), sum(map(torch.cuda.memory_reserved, devices))


def _node(tensor: Any) -> Any:
    try:
        return tensor.grad_fn
    except (RuntimeError, AttributeError, ReferenceError):  # say, a view whose base was written where none may be
        return None
