"""Reading and writing by index."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from opsmeasure.samples import Sample, call, ints, mask, rand


def samples() -> Iterator[Sample]:
    """The calls."""
    get, put = Tensor.__getitem__, Tensor.__setitem__
    full = slice(None)
    for basic in (0, -1, slice(0, 2), (full, 1), None, Ellipsis, full, (0, slice(1, 3)), (Ellipsis, 0), (None, 0)):
        yield call(get, rand(3, 4), basic)
        yield call(put, rand(3, 4), basic, 0.0)
        yield call(put, rand(3, 4), basic, rand(1))
    for advanced in (ints(3, 2), mask(3), mask(3, 4), [0, 1], (slice(None), [0, 1]), (ints(3, 2), ints(4, 2)),
                     (slice(None), ints(4, 2)), (torch.arange(3), ints(4, 3)), (slice(None), mask(4)),
                     ([0, 1], ints(4, 2)), ([0, 1], [2, 3]), (0, ints(4, 2))):  # fmt: skip
        yield call(get, rand(3, 4), advanced)
        yield call(put, rand(3, 4), advanced, 0.0)
        yield call(put, rand(3, 4), advanced, rand(1))
    index = ints(3, 3, 4)
    yield call(torch.gather, rand(3, 4), 0, index)
    yield call(torch.take, rand(3, 4), ints(12, 5))
    yield call(torch.take_along_dim, rand(3, 4), index, 0)
    yield call(torch.take_along_dim, rand(3, 4), ints(12, 5))
    yield call(torch.index_select, rand(3, 4), 0, ints(3, 2))
    yield call(torch.masked_select, rand(3, 4), mask(3, 4))
    yield call(torch.masked_fill, rand(3, 4), mask(3, 4), 0.0)
    yield call(torch.masked_fill, rand(3, 4), mask(3, 4), torch.tensor(0.0))
    yield call(torch.masked_scatter, rand(3, 4), mask(3, 4), rand(12))
    yield call(torch.scatter, rand(3, 4), 0, index, rand(3, 4))
    yield call(torch.scatter, rand(3, 4), 0, index, 1.0)
    yield call(torch.scatter, rand(3, 4), 0, index, rand(3, 4), reduce="add")
    yield call(torch.scatter, rand(3, 4), 0, index, rand(3, 4), reduce="multiply")
    yield call(torch.scatter_add, rand(3, 4), 0, index, rand(3, 4))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield call(torch.scatter_reduce, rand(3, 4), 0, index, rand(3, 4), reduce)
        if reduce != "sum":
            yield call(torch.index_reduce, rand(3, 4), 0, ints(3, 2), rand(2, 4), reduce)
    yield call(torch.index_add, rand(3, 4), 0, ints(3, 2), rand(2, 4))
    yield call(torch.index_copy, rand(3, 4), 0, torch.tensor([0, 2]), rand(2, 4))
    yield call(torch.index_fill, rand(3, 4), 0, ints(3, 2), 0.0)
    yield call(torch.index_fill, rand(3, 4), 0, ints(3, 2), torch.tensor(0.0))
    yield call(torch.slice_scatter, rand(3, 4), rand(2, 4), 0, 0, 2)
    yield call(torch.select_scatter, rand(3, 4), rand(4), 0, 0)
    yield call(torch.diagonal_scatter, rand(3, 3), rand(3))
    yield call(torch.scatter, rand(3, 4), dim=0, index=index, src=rand(3, 4))
