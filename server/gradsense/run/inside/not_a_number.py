"""Finds the operation whose backward turned numbers into NaN.

Anomaly mode's own check raises at each NaN, also where a mask keeps it from all parameters, and asks the device once
for each node. This one asks once a walk whether NaN has come to a leaf, and only then which node it came from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from .graph import Graph


class NanWatch:
    """Notes, for each node that can make a NaN, the sums of what its backward returned, in the order of the walk."""

    def __init__(self, graph: Graph, create: bool) -> None:
        self.leaves = graph.leaves
        self.create = create
        self.sums: list[tuple[Any, int, Any]] = []
        makers = {id(entry.node): entry.node for entry in graph.saved}
        makers.update((id(node), node) for node in graph.opaque)
        self.handles = [self._watch(node) for node in makers.values()]

    def close(self) -> None:
        """Takes the hooks off the nodes."""
        for handle in self.handles:
            handle.remove()

    def find(self, returned: Any) -> tuple[Any, str] | None:
        """The node that made the first NaN, with the message that torch has for it; None where all is well.

        Args:
            returned: what the engine returned: gradients, where it put none into `.grad`.
        """
        grads = [leaf.grad for leaf in self.leaves if leaf.grad is not None]
        grads += [item for item in returned or () if isinstance(item, torch.Tensor)]
        if not any_nan(grads):
            return None
        for node, index, total in self.sums:
            if bool(torch.isnan(total)):
                return node, f"Function '{node.name()}' returned nan values in its {index}th output."
        return None

    def _watch(self, node: Any) -> Any:
        sums, create = self.sums, self.create

        def note(grads: Any, _: Any) -> None:
            for index, grad in enumerate(grads):
                if grad is not None and _is_plain(grad):
                    sums.append((node, index, grad.detach().sum() if create else grad.sum()))

        return node.register_hook(note)


def any_nan(tensors: list[Any]) -> bool:
    """Whether there is a NaN in any of these tensors, asked once for each device and type."""
    groups: dict[Any, list[Any]] = {}
    for tensor in tensors:
        if _is_plain(tensor) and tensor.numel():
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor.detach())
    with torch.no_grad():
        return any(bool(torch.stack([item.sum() for item in group]).isnan().any()) for group in groups.values())


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor is one block of numbers that may be NaN."""
    numbers = tensor.is_floating_point() or tensor.is_complex()
    return bool(numbers and tensor.layout == torch.strided and not tensor.is_nested)


@contextlib.contextmanager
def scalers(watched: dict[str, bool]) -> Iterator[None]:
    """Notes whether losses are scaled for half precision: then NaN is expected at times, and the step is skipped."""
    kinds: list[Any] = []
    for module in (getattr(torch, "amp", None), torch.cuda.amp):
        kind = getattr(module, "GradScaler", None)
        if kind is not None and "scale" in vars(kind):
            kinds.append(kind)
    real = [kind.scale for kind in kinds]

    def watch(scale: Any) -> Any:
        def scaled(scaler: Any, outputs: Any) -> Any:
            if scaler.is_enabled():
                watched["scaled"] = True
            return scale(scaler, outputs)

        return scaled

    for kind in kinds:
        kind.scale = watch(kind.scale)
    try:
        yield
    finally:
        for kind, scale in zip(kinds, real):
            kind.scale = scale
