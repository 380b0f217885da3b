"""Attention, decompositions, and what ``fft``, ``special`` and ``linalg`` have that op_db calls otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from opsmeasure.samples import Sample, call, mask, rand


def samples() -> Iterator[Sample]:
    """The calls."""
    yield from _attention()
    yield from _linalg()
    yield from _transforms()


def _attention() -> Iterator[Sample]:
    for shape in ((2, 3, 4, 8), (2, 4, 8)):
        qkv = tuple(rand(*shape) for _ in range(3))
        yield call(F.scaled_dot_product_attention, *qkv)
        yield call(F.scaled_dot_product_attention, *qkv, is_causal=True)
        yield call(F.scaled_dot_product_attention, *qkv, attn_mask=torch.ones(4, 4).tril().bool())
        yield call(F.scaled_dot_product_attention, *qkv, attn_mask=torch.zeros(4, 4))
        yield call(F.scaled_dot_product_attention, *qkv, dropout_p=0.1)
    width, heads = 8, 2
    projections = (rand(3 * width, width), rand(3 * width), None, None, False, 0.0, rand(width, width), rand(width))
    rest = (width, heads, *projections)
    for training in (True, False):
        for need_weights in (True, False):
            q, k, v = (rand(4, 2, width) for _ in range(3))
            options = {"training": training, "need_weights": need_weights}
            yield call(F.multi_head_attention_forward, q, k, v, *rest, **options)
            yield call(F.multi_head_attention_forward, q, k, v, *rest, key_padding_mask=~mask(2, 4), **options)


def _linalg() -> Iterator[Sample]:
    square = rand(3, 3) + 3 * torch.eye(3)
    spd = square @ square.T
    names = "inv det slogdet svd svdvals qr eig eigvals lu lu_factor matrix_exp pinv"
    for name in names.split():
        yield call(getattr(torch.linalg, name), square)
    for name in ("eigh", "eigvalsh", "cholesky"):
        yield call(getattr(torch.linalg, name), spd)
    yield call(torch.linalg.solve, square, rand(3, 2))
    yield call(torch.linalg.solve, square, rand(3))
    yield call(torch.linalg.solve_triangular, square.triu(), rand(3, 2), upper=True)
    yield call(torch.linalg.lstsq, square, rand(3, 2))
    yield call(torch.linalg.matrix_power, square, 2)
    yield call(torch.linalg.cross, rand(4, 3), rand(4, 3))
    yield call(torch.linalg.vecdot, rand(4, 3), rand(4, 3))
    yield call(torch.linalg.cond, square)
    yield call(torch.linalg.householder_product, rand(4, 3), rand(3))
    names = "inverse det logdet slogdet svd qr matrix_exp pinverse"
    for name in names.split():
        yield call(getattr(torch, name), square)
    yield call(torch.cholesky, spd)
    yield call(torch.cholesky_inverse, square.tril())
    yield call(torch.cholesky_solve, rand(3, 2), square.tril())
    yield call(torch.triangular_solve, rand(3, 2), square.triu())
    yield call(torch.lu_solve, rand(3, 2), *torch.linalg.lu_factor(square))


def _transforms() -> Iterator[Sample]:
    names = "fft ifft rfft hfft ihfft fft2 ifft2 rfft2 fftn ifftn rfftn fftshift ifftshift"
    for name in names.split():
        yield call(getattr(torch.fft, name), rand(4, 4))
    half = torch.fft.rfft2(rand(4, 4))
    for name in ("irfft", "irfft2", "irfftn", "fft", "ifft", "hfft"):
        yield call(getattr(torch.fft, name), half)
    yield call(torch.stft, rand(2, 64), 16, window=rand(16), return_complex=True)
    spectrum = torch.stft(rand(2, 64), 16, window=torch.ones(16), return_complex=True)
    yield call(torch.istft, spectrum, 16, window=torch.ones(16))
    names = (
        "erf erfc erfinv expit logit log1p expm1 digamma gammaln i0 i0e i1 i1e ndtr ndtri log_ndtr sinc"
        " entr erfcx exp2 psi"
    )
    for name in names.split():
        yield call(getattr(torch.special, name), rand(3, 4))
    yield call(torch.special.xlogy, rand(3, 4), rand(3, 4))
    yield call(torch.special.xlog1py, rand(3, 4), rand(3, 4))
    yield call(torch.special.logsumexp, rand(3, 4), 1)
    yield call(torch.special.softmax, rand(3, 4), 1)
    yield call(torch.special.log_softmax, rand(3, 4), 1)
    yield call(torch.special.polygamma, 1, rand(3, 4))
    yield call(torch.special.zeta, rand(3, 4) + 2, rand(3, 4))
    yield call(torch.special.gammainc, rand(3, 4), rand(3, 4))
    yield call(torch.special.gammaincc, rand(3, 4), rand(3, 4))
