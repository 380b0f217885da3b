"""The calls that torch's own test database (op_db) makes, spelt as a user spells them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from opsmeasure.naming import canonical, public
from opsmeasure.samples import Sample

_LOOKED_AT = 60


class _Recorder(TorchFunctionMode):
    """Notes the outermost calls, for op_db hides many ops in lambdas whose argument order is its own."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, tuple(args), dict(kwargs or {}), result))
        return result


def _spell(op: Any, sample: Any) -> Sample | None:
    """The public call behind an op_db sample, None where it is not exactly one."""
    args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
    if public(op.name) is op.op:
        name = canonical(op.op)
        return None if name is None else Sample(name, op.op, args, kwargs)
    recorder = _Recorder()
    with recorder:
        result = op.op(*args, **kwargs)
    calls = [call for call in recorder.calls if canonical(call[0]) not in (None, "random.manual_seed")]
    if len(calls) != 1 or calls[0][3] is not result:
        return None
    func, args, kwargs, _ = calls[0]
    return Sample(canonical(func) or op.name, func, args, kwargs)


def samples_of(op: Any, most: int) -> list[Sample]:
    """At most so many samples of an op, spread over what op_db offers.

    Raises:
        Exception: whatever op_db's generator raises on this machine.
    """
    generated = list(islice(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd), _LOOKED_AT))
    step = max(1.0, len(generated) / most)
    chosen = [generated[int(place * step)] for place in range(min(most, len(generated)))]
    return [spelt for sample in chosen if (spelt := _spell(op, sample)) is not None]


def entries() -> Iterator[Any]:
    """The entries of op_db that work with float32 on the CPU."""
    from torch.testing._internal.common_methods_invocations import op_db

    database: list[Any] = op_db
    for op in database:
        private = op.name.startswith(("_", "jiterator")) and not op.name.startswith("__")
        supported: set[torch.dtype] = op.supported_dtypes("cpu")
        if not private and torch.float32 in supported:
            yield op
