"""Shapes, views, copies, casts, joins, in-place writers and makers of new tensors."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from opsmeasure.samples import Sample, call, ints, mask, rand, strided


def samples() -> Iterator[Sample]:
    """The calls."""
    yield from _shapes()
    yield from _maybe_views()
    yield from _joins()
    yield from _splits()
    yield from _writers()
    yield from _casts()
    yield from _makers()
    yield from _integers()


def _shapes() -> Iterator[Sample]:
    yield call(Tensor.view, rand(3, 4), 4, 3)
    yield call(Tensor.view, rand(3, 4), (12,))
    yield call(Tensor.view, rand(3, 4), -1)
    yield call(Tensor.view_as, rand(3, 4), rand(4, 3))
    yield call(Tensor.expand, rand(3, 1), 3, 4)
    yield call(Tensor.expand, rand(4), 3, -1)
    yield call(Tensor.expand_as, rand(3, 1), rand(3, 4))
    yield call(torch.broadcast_to, rand(3, 1), (3, 4))
    yield call(Tensor.permute, rand(2, 3, 4), 2, 0, 1)
    yield call(torch.permute, rand(2, 3, 4), (2, 0, 1))
    yield call(torch.transpose, rand(3, 4), 0, 1)
    yield call(torch.swapaxes, rand(3, 4), 0, 1)
    yield call(torch.movedim, rand(2, 3, 4), 0, 1)
    yield call(Tensor.t, rand(3, 4))
    for name in ("T", "mT", "H", "mH", "real"):
        yield call(getattr(Tensor, name).__get__, rand(3, 4))
    names = "data grad shape is_leaf dtype ndim requires_grad device grad_fn"
    for name in names.split():
        yield call(getattr(Tensor, name).__get__, rand(3, 4))
    yield call(torch.squeeze, rand(3, 1))
    yield call(torch.squeeze, rand(3, 1), 1)
    yield call(torch.squeeze, rand(3, 4), 1)
    yield call(torch.unsqueeze, rand(3, 4), 0)
    yield call(torch.select, rand(3, 4), 0, 1)
    yield call(torch.narrow, rand(3, 4), 0, 0, 2)
    yield call(Tensor.unfold, rand(6), 0, 3, 1)
    yield call(torch.as_strided, rand(3, 4), (2, 2), (1, 2))
    yield call(torch.diagonal, rand(3, 3))
    yield call(torch.diag, rand(3))
    yield call(torch.diag, rand(3, 3))
    yield call(torch.diag_embed, rand(3, 3))
    yield call(torch.diagflat, rand(3))
    yield call(torch.unflatten, rand(3, 4), 1, (2, 2))
    yield call(torch.flip, rand(3, 4), (0,))
    yield call(Tensor.flip, rand(3, 4), 0, 1)
    yield call(torch.fliplr, rand(3, 4))
    yield call(torch.flipud, rand(3, 4))
    yield call(torch.roll, rand(3, 4), 1, 0)
    yield call(torch.roll, rand(3, 4), 1)
    yield call(torch.rot90, rand(3, 4), 1, (0, 1))
    yield call(Tensor.repeat, rand(3, 4), 2, 1)
    yield call(torch.tile, rand(3, 4), (2, 1))
    yield call(torch.repeat_interleave, torch.tensor([1, 2, 1]))
    yield call(torch.repeat_interleave, rand(3, 4), 2)
    yield call(torch.repeat_interleave, rand(3, 4), 2, dim=1)
    yield call(torch.repeat_interleave, rand(3, 4), torch.tensor([1, 2, 1]), dim=0)
    for diagonal in (0, 1):
        yield call(torch.tril, rand(3, 4), diagonal)
        yield call(torch.triu, rand(3, 4), diagonal)
    yield call(torch.atleast_2d, rand(3))
    yield call(Tensor.detach, rand(3, 4))
    yield call(torch.vander, rand(3))
    yield call(Tensor.sum_to_size, rand(3, 4), 1, 4)
    yield call(Tensor.view, rand(3, 4), torch.int32)


def _maybe_views() -> Iterator[Sample]:
    for source in (rand(3, 4), strided(3, 4)):
        yield call(torch.reshape, source, (12,))
        yield call(Tensor.reshape, source, 4, 3)
        yield call(Tensor.reshape, source, 3, 4)
        yield call(Tensor.reshape_as, source, rand(4, 3))
        yield call(Tensor.contiguous, source)
        yield call(torch.flatten, source)
        yield call(torch.ravel, source)
    for source in (rand(2, 3, 4), strided(2, 3, 4)):
        yield call(torch.flatten, source, 1)
        yield call(torch.unflatten, source, 2, (2, 2))
    yield call(torch.flatten, rand(3))
    yield call(torch.flatten, rand(3, 4), 1)


def _joins() -> Iterator[Sample]:
    for func in (torch.cat, torch.stack):
        yield call(func, [rand(3, 4), rand(3, 4), rand(3, 4)])
        yield call(func, (rand(3, 4), rand(3, 4)), dim=1)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        yield call(getattr(torch, name), (rand(3, 4), rand(3, 4)))
    yield call(torch.block_diag, rand(3, 4), rand(3, 4))
    yield call(torch.broadcast_tensors, rand(3, 1), rand(1, 4))
    yield call(torch.meshgrid, rand(3), rand(4), indexing="ij")
    yield call(torch.atleast_1d, rand(3))
    yield call(torch.nn.utils.rnn.pad_sequence, [rand(3, 4), rand(2, 4)], batch_first=True)


def _splits() -> Iterator[Sample]:
    yield call(torch.split, rand(6, 4), 2)
    yield call(torch.split, rand(6, 4), [1, 5])
    yield call(Tensor.split, rand(6, 4), 3, dim=0)
    yield call(torch.chunk, rand(6, 4), 2)
    yield call(torch.tensor_split, rand(6, 4), 3)
    yield call(torch.hsplit, rand(6, 4), 2)
    yield call(torch.vsplit, rand(6, 4), 2)
    yield call(torch.dsplit, rand(2, 4, 6), 2)
    for name in ("hsplit", "vsplit"):
        yield call(getattr(torch, name), rand(6, 6), [2, 4])
    yield call(torch.dsplit, rand(2, 4, 6), [2, 4])
    yield call(torch.tensor_split, rand(6, 4), [2, 4])
    yield call(torch.unbind, rand(3, 4))
    yield call(Tensor.unbind, rand(3, 4), 1)
    yield call(torch.unsafe_split, rand(6, 4), 2)
    yield call(torch.unsafe_chunk, rand(6, 4), 2)
    yield call(torch.split_with_sizes, rand(6, 4), [2, 4])


def _writers() -> Iterator[Sample]:
    yield call(Tensor.copy_, rand(3, 4), rand(3, 4))
    yield call(Tensor.fill_, rand(3, 4), 0.0)
    yield call(Tensor.fill_, rand(3, 4), torch.tensor(0.0))
    names = "zero_ normal_ uniform_ exponential_ bernoulli_ random_ log_normal_ cauchy_ detach_ t_"
    for name in names.split():
        yield call(getattr(Tensor, name), rand(3, 4))
    yield call(Tensor.geometric_, rand(3, 4), 0.5)
    yield call(Tensor.fill_diagonal_, rand(3, 3), 0.0)
    yield call(Tensor.unsqueeze_, rand(3, 4), 0)
    yield call(Tensor.squeeze_, rand(3, 1))
    yield call(Tensor.transpose_, rand(3, 4), 0, 1)
    yield call(Tensor.swapaxes_, rand(3, 4), 0, 1)
    yield call(Tensor.index_put_, rand(3, 4), (ints(3, 2),), rand(2, 4))
    yield call(Tensor.index_put_, rand(3, 4), (ints(3, 2),), rand(2, 4), accumulate=True)
    yield call(torch.index_put, rand(3, 4), (ints(3, 2),), rand(2, 4))
    yield call(Tensor.masked_scatter_, rand(3, 4), mask(3, 4), rand(12))
    yield call(Tensor.put_, rand(3, 4), ints(12, 3), rand(3))


def _casts() -> Iterator[Sample]:
    names = "float double half bfloat16 int long bool short byte char cfloat cdouble"
    for name in names.split():
        yield call(getattr(Tensor, name), rand(3, 4))
    yield call(Tensor.float, rand(3, 4).double())
    yield call(Tensor.double, rand(3, 4).double())
    yield call(Tensor.half, rand(3, 4).half())
    yield call(Tensor.bfloat16, rand(3, 4).bfloat16())
    yield call(Tensor.type_as, rand(3, 4), rand(2).double())
    yield call(Tensor.type_as, rand(3, 4), rand(2))
    yield call(Tensor.type, rand(3, 4), torch.float64)
    yield call(Tensor.type, rand(3, 4), torch.float32)
    yield call(Tensor.type, rand(3, 4))
    names = (
        "item tolist size stride dim numel is_contiguous data_ptr element_size storage_offset numpy"
        " get_device nelement ndimension __len__ __bool__ __float__ __int__"
    )
    for name in names.split():
        source = rand(1) if name in ("item", "__bool__", "__float__", "__int__") else rand(3, 4)
        yield call(getattr(Tensor, name), source)
    for name in ("new_zeros", "new_ones", "new_empty"):
        yield call(getattr(Tensor, name), rand(3, 4), (2, 2))
    yield call(Tensor.new_full, rand(3, 4), (2, 2), 1.0)
    yield call(Tensor.new_tensor, rand(3, 4), [1.0])
    yield call(Tensor.multinomial, rand(3, 4), 2)
    yield call(torch.nonzero, rand(3, 4))
    yield call(torch.nonzero, rand(3, 4), as_tuple=True)
    yield call(torch.argwhere, rand(3, 4))
    yield call(torch.normal, rand(3, 4), rand(3, 4))
    yield call(torch.normal, 0.0, rand(3, 4))
    yield call(torch.normal, rand(3, 4), 1.0)
    yield call(torch.poisson, rand(3, 4))
    yield call(torch.asarray, rand(3, 4))


def _makers() -> Iterator[Sample]:
    for name in ("zeros", "ones", "empty", "rand", "randn"):
        yield call(getattr(torch, name), 3, 4)
        yield call(getattr(torch, name), (3, 4))
    yield call(torch.full, (3, 4), 1.0)
    yield call(torch.randint, 5, (3, 4))
    yield call(torch.randint, 0, 5, (3, 4))
    yield call(torch.randperm, 5)
    yield call(torch.arange, 5)
    yield call(torch.arange, 0.0, 5.0, 1.0)
    yield call(torch.linspace, 0.0, 1.0, 5)
    yield call(torch.logspace, 0.0, 1.0, 5)
    yield call(torch.eye, 3)
    yield call(torch.tensor, [1.0, 2.0])
    yield call(torch.as_tensor, [1.0, 2.0])
    yield call(torch.as_tensor, rand(3))
    yield call(torch.from_numpy, rand(3).numpy())
    yield call(torch.scalar_tensor, 1.0)
    yield call(torch.empty_strided, (3, 4), (4, 1))
    yield call(torch.normal, 0.0, 1.0, (3, 4))
    for name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"):
        yield call(getattr(torch, name), 8)
    yield call(torch.tril_indices, 3, 3)
    yield call(torch.triu_indices, 3, 3)


def _integers() -> Iterator[Sample]:
    names = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm"
    for name in names.split():
        yield call(getattr(torch, name), ints(5, 3, 4), ints(5, 3, 4) + 1)
    yield call(torch.bitwise_not, ints(5, 3, 4))
    yield call(torch.bitwise_and, mask(3, 4), mask(3, 4))
    for name in ("view_as_real_copy", "view_as_complex_copy", "detach_copy"):
        source = torch.complex(rand(3), rand(3)) if name == "view_as_real_copy" else rand(3, 2)
        yield call(getattr(torch, name), source)
    yield call(torch.select_copy, rand(3, 4), 0, 1)
    yield call(torch.slice_copy, rand(3, 4), 0, 0, 2)
    yield call(torch.split_copy, rand(6, 4), 2)
    yield call(torch.unsafe_split_with_sizes, rand(6, 4), [2, 4])
    yield call(torch.view_copy, rand(3, 4), torch.int32)
    yield call(torch.isin, rand(3), 0.5)
    yield call(torch.isin, 0.5, rand(3))
    yield call(torch.randint_like, rand(3), 0, 5)
    yield call(Tensor.random_, rand(3), 5)
    yield call(torch.unravel_index, ints(12, 3), (3, 4))
    yield call(torch.svd_lowrank, rand(6, 4), 2)
    yield call(torch.pca_lowrank, rand(6, 4), 2)
    yield call(torch.norm_except_dim, rand(3, 4), 2, 0)
    yield call(torch.native_dropout, rand(3, 4), 0.5, True)
    yield call(torch.binomial, rand(3, 4) * 4, rand(3, 4))
    yield call(Tensor.is_pinned, rand(3))
    yield call(Tensor.is_shared, rand(3))
    yield call(Tensor.to_dense, rand(3))
