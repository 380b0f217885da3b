"""Arithmetic, elementwise functions and reductions, with tensors, numbers and Python's own operators."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from opsmeasure.samples import Sample, call, ints, mask, rand, strided


def samples() -> Iterator[Sample]:
    """The calls."""
    yield from _binary()
    yield from _ternary()
    yield from _unary()
    yield from _reductions()
    yield from _scans()
    yield from _products()
    yield from _complex()


def _binary() -> Iterator[Sample]:
    for name in ("add", "sub", "mul", "div", "pow", "remainder", "fmod", "floor_divide"):
        func = getattr(torch, name)
        yield call(func, rand(3, 4), rand(3, 4))
        yield call(func, rand(3, 4), rand(4))
        yield call(func, rand(3, 4), 3)
        yield call(func, rand(3, 4), 0.5)
    names = (
        "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__"
        " __mod__ __rmod__ __floordiv__"
    )
    for name in names.split():
        yield call(getattr(Tensor, name), rand(3, 4), 2.0)
    yield call(Tensor.__rpow__, rand(3, 4), 3)
    for exponent in (0, 1, 2, 3, -0.5, 0.5, -1):
        yield call(torch.pow, rand(3, 4), exponent)
    yield call(torch.pow, 2.0, rand(3, 4))
    yield call(torch.add, rand(3, 4), rand(3, 4), alpha=2)
    yield call(torch.sub, rand(3, 4), rand(3, 4), alpha=2)
    for mode in ("floor", "trunc", None):
        yield call(torch.div, rand(3, 4), rand(3, 4), rounding_mode=mode)
        yield call(torch.div, rand(3, 4), 2.0, rounding_mode=mode)
    for func in (torch.maximum, torch.minimum, torch.max, torch.min, torch.fmax, torch.fmin, torch.atan2, torch.hypot,
                 torch.copysign, torch.logaddexp, torch.logaddexp2, torch.xlogy, torch.ldexp):  # fmt: skip
        yield call(func, rand(3, 4), rand(3, 4))
    yield call(torch.xlogy, rand(3, 4), 2.0)
    yield call(torch.copysign, rand(3, 4), 1.0)
    for func in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge):
        yield call(func, rand(3, 4), rand(3, 4))
        yield call(func, rand(3, 4), 0.5)
    for func in (torch.logical_and, torch.logical_or, torch.isclose, torch.allclose, torch.equal):
        yield call(func, rand(3, 4), rand(3, 4))


def _ternary() -> Iterator[Sample]:
    yield call(torch.lerp, rand(3, 4), rand(3, 4), 0.9)
    yield call(torch.lerp, rand(3, 4), rand(3, 4), rand(3, 4))
    yield call(torch.addcmul, rand(3, 4), rand(3, 4), rand(3, 4), value=0.1)
    yield call(torch.addcdiv, rand(3, 4), rand(3, 4), rand(3, 4), value=0.1)
    yield call(torch.where, mask(3, 4), rand(3, 4), rand(3, 4))
    yield call(torch.where, mask(3, 4), rand(3, 4), 0.0)
    yield call(torch.where, mask(3, 4), 0.0, rand(3, 4))
    yield call(torch.where, mask(3, 4))
    yield call(Tensor.where, rand(3, 4), mask(3, 4), rand(3, 4))
    yield call(Tensor.where, rand(3, 4), mask(3, 4), 0.0)
    for low, high in ((0.2, 0.6), (0.2, None), (None, 0.6)):
        yield call(torch.clamp, rand(3, 4), low, high)
        bounds = (None if bound is None else torch.full((4,), bound) for bound in (low, high))
        yield call(torch.clamp, rand(3, 4), *bounds)
    yield call(torch.clamp_min, rand(3, 4), 0.3)
    yield call(torch.clamp_max, rand(3, 4), 0.3)
    yield call(torch.clamp_min, rand(3, 4), torch.full((4,), 0.3))
    yield call(torch.clamp_max, rand(3, 4), torch.full((4,), 0.3))


def _unary() -> Iterator[Sample]:
    names = (
        "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin acos"
        " atan sinh cosh tanh asinh atanh sigmoid relu erf erfc erfinv lgamma digamma floor ceil round"
        " trunc frac sign sgn nan_to_num selu celu logit sinc i0 softmax log_softmax positive rad2deg"
        " deg2rad clone detach conj real isnan isinf isfinite logical_not signbit zeros_like ones_like"
        " rand_like randn_like empty_like bernoulli numel is_floating_point is_complex is_nonzero isreal"
        " diag trace tril triu ravel t flatten"
    )
    for name in names.split():
        if name in ("softmax", "log_softmax"):
            yield call(getattr(torch, name), rand(3, 4), 1)
        elif name == "is_nonzero":
            yield call(torch.is_nonzero, rand(1))
        else:
            yield call(getattr(torch, name), rand(4, 4))
    yield call(torch.acosh, rand(3, 4) + 1)
    yield call(torch.round, rand(3, 4), decimals=1)
    yield call(torch.full_like, rand(3, 4), 1.0)
    yield call(torch.randint_like, rand(3, 4), 5)
    yield call(torch.polygamma, 1, rand(3, 4))
    yield call(torch.mvlgamma, rand(3, 4) + 3, 2)
    yield call(torch.logit, rand(3, 4), 1e-6)
    yield call(torch.dropout, rand(3, 4), 0.5, True)
    yield call(torch.dropout, rand(3, 4), 0.5, False)
    yield call(torch.dropout, rand(3, 4), 0.0, True)
    yield call(torch.alpha_dropout, rand(3, 4), 0.5, True)
    yield call(torch.alpha_dropout, rand(3, 4), 0.5, False)
    yield call(torch.feature_dropout, rand(3, 4), 0.5, True)
    yield call(torch.feature_dropout, rand(3, 4), 0.5, False)
    yield call(torch.rrelu, rand(3, 4) - 0.5)
    yield call(torch.threshold, rand(3, 4), 0.3, 0.0)
    yield call(torch.prelu, rand(3, 4) - 0.5, rand(1))


def _reductions() -> Iterator[Sample]:
    names = (
        "sum mean prod max min amax amin median nanmedian std var norm nansum nanmean all any argmax"
        " argmin count_nonzero std_mean var_mean aminmax"
    )
    for name in names.split():
        func = getattr(torch, name)
        yield call(func, rand(3, 4))
        if name == "norm":
            yield call(func, rand(3, 4), 2, 1)
        elif name == "aminmax":
            yield call(func, rand(3, 4), dim=1)
        else:
            yield call(func, rand(3, 4), 1)
        if name not in ("median", "nanmedian", "count_nonzero", "norm"):
            yield call(func, rand(3, 4), dim=1, keepdim=True)
    for dim in ((0, 1), (1,)):
        yield call(torch.sum, rand(3, 4), dim)
        yield call(torch.mean, rand(3, 4), dim)
        yield call(torch.amax, rand(3, 4), dim)
        yield call(torch.std, rand(3, 4), dim)
        yield call(torch.var, rand(3, 4), dim)
        yield call(torch.logsumexp, rand(3, 4), dim)
    yield call(torch.std, rand(3, 4), False)
    yield call(torch.var, rand(3, 4), False)
    yield call(torch.var, rand(3, 4), 1, unbiased=False)
    yield call(torch.var, rand(3, 4), dim=1, correction=0)
    yield call(torch.logsumexp, rand(3, 4), 1)
    yield call(torch.mode, rand(3, 4))
    yield call(torch.kthvalue, rand(3, 4), 2)
    yield call(torch.quantile, rand(3, 4), 0.5)
    yield call(torch.quantile, rand(3, 4), 0.5, dim=1)
    yield call(torch.quantile, rand(3, 4), torch.tensor([0.2, 0.5]), dim=1)
    yield call(torch.nanquantile, rand(3, 4), 0.5, dim=1)
    for p in (0, 1, 2, 3, float("inf"), "fro", "nuc"):
        yield call(torch.norm, rand(3, 4), p)
        yield call(torch.linalg.norm, rand(3, 4), p if p not in (0, 3) else None)
    for p in (1, 2, 3, float("inf")):
        yield call(torch.norm, rand(3, 4), p, dim=1)
        yield call(torch.norm, rand(3, 4), p=p, dim=1, keepdim=True)
        yield call(torch.linalg.vector_norm, rand(3, 4), p)
        yield call(torch.linalg.vector_norm, rand(3, 4), p, dim=1)
        yield call(torch.linalg.norm, rand(3, 4), p, dim=1)
        yield call(Tensor.norm, rand(3, 4), p)
        yield call(torch.dist, rand(3, 4), rand(3, 4), p)
        yield call(torch.renorm, rand(3, 4), p, 0, 1.0)
        yield call(torch.cdist, rand(3, 4), rand(5, 4), p)
        yield call(torch.nn.functional.pdist, rand(3, 4), p)
    yield call(Tensor.norm, rand(3, 4), dim=1)
    yield call(torch.cdist, rand(3, 4), rand(5, 4))
    yield call(torch.cdist, rand(30, 4), rand(30, 4))
    yield call(torch.linalg.vector_norm, rand(3, 4), dim=1, keepdim=True)
    yield call(torch.linalg.matrix_norm, rand(3, 4))
    yield call(torch.histc, rand(3, 4))
    yield call(torch.bincount, ints(3, 4))
    yield call(torch.unique, rand(4))
    yield call(torch.unique_consecutive, rand(4))


def _scans() -> Iterator[Sample]:
    for func in (torch.cumsum, torch.cumprod, torch.logcumsumexp, torch.cummax, torch.cummin):
        yield call(func, rand(3, 4), 1)
    yield call(torch.sort, rand(3, 4))
    yield call(torch.sort, rand(3, 4), 1, True)
    yield call(torch.sort, rand(3, 4), stable=True, dim=0)
    yield call(torch.argsort, rand(3, 4))
    yield call(torch.msort, rand(3, 4))
    yield call(torch.topk, rand(3, 4), 2)
    yield call(torch.topk, rand(3, 4), 2, dim=0)
    yield call(torch.diff, rand(3, 4))
    yield call(torch.trapz, rand(3, 4))
    yield call(torch.cumulative_trapezoid, rand(3, 4))
    yield call(torch.gradient, rand(4))
    yield call(torch.searchsorted, torch.arange(4.0), rand(3))
    yield call(torch.bucketize, rand(3), torch.arange(4.0))


def _products() -> Iterator[Sample]:
    yield call(torch.matmul, rand(3, 4), rand(4, 5))
    yield call(torch.matmul, rand(2, 3, 4), rand(4, 5))
    yield call(torch.matmul, rand(2, 3, 4), rand(2, 4, 5))
    yield call(torch.matmul, rand(3, 4), rand(4))
    yield call(torch.matmul, rand(4), rand(4))
    yield call(Tensor.__matmul__, rand(3, 4), rand(4, 5))
    yield call(torch.mm, rand(3, 4), rand(4, 5))
    yield call(torch.bmm, rand(2, 3, 4), rand(2, 4, 5))
    yield call(torch.mv, rand(3, 4), rand(4))
    yield call(torch.dot, rand(4), rand(4))
    yield call(torch.inner, rand(3, 4), rand(5, 4))
    yield call(torch.outer, rand(3), rand(4))
    yield call(torch.vdot, rand(4), rand(4))
    yield call(torch.kron, rand(2, 3), rand(3, 2))
    yield call(torch.cross, rand(4, 3), rand(4, 3), dim=1)
    yield call(torch.tensordot, rand(3, 4), rand(4, 5), dims=1)
    operands = {
        "addmm": (rand(3, 5), rand(3, 4), rand(4, 5)),
        "addmv": (rand(3), rand(3, 4), rand(4)),
        "addbmm": (rand(3, 5), rand(2, 3, 4), rand(2, 4, 5)),
        "baddbmm": (rand(2, 3, 5), rand(2, 3, 4), rand(2, 4, 5)),
        "addr": (rand(3, 4), rand(3), rand(4)),
    }
    for name, first in operands.items():
        yield call(getattr(torch, name), *first)
        yield call(getattr(torch, name), *first, beta=0.5, alpha=2.0)
    matrices, batches = ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5))
    equations: dict[str, tuple[tuple[int, ...], ...]] = {
        "ij,jk->ik": matrices,
        "bij,bjk->bik": batches,
        "ij->ji": ((3, 4),),
        "ij->i": ((3, 4),),
        "i,j->ij": ((3,), (4,)),
        "ij,ij->ij": ((3, 4), (3, 4)),
    }
    for equation, sizes in equations.items():
        yield call(torch.einsum, equation, *(rand(*size) for size in sizes))
    yield call(torch.einsum, "ij,jk,kl->il", rand(3, 4), rand(4, 5), rand(5, 2))
    yield call(torch.chain_matmul, rand(3, 4), rand(4, 5), rand(5, 2))
    yield call(torch.linalg.multi_dot, [rand(3, 4), rand(4, 5), rand(5, 2)])
    yield call(torch.linalg.multi_dot, [rand(3, 4), rand(4, 5)])
    yield call(torch.matrix_power, rand(3, 3), 3)
    yield call(torch.cartesian_prod, rand(3), rand(4))
    yield call(torch.combinations, rand(4))
    yield call(torch.cov, rand(3, 4))
    yield call(torch.corrcoef, rand(3, 4))


def _complex() -> Iterator[Sample]:
    value = torch.complex(rand(3, 4), rand(3, 4))
    for func in (torch.real, torch.imag, torch.view_as_real, torch.angle, torch.abs, torch.conj, torch.resolve_conj):
        yield call(func, value)
    yield call(torch.view_as_complex, rand(3, 2))
    yield call(torch.complex, rand(3, 4), rand(3, 4))
    yield call(torch.polar, rand(3, 4), rand(3, 4))
    yield call(torch.angle, rand(3, 4))
    yield call(torch.mul, strided(3, 4), strided(3, 4))
