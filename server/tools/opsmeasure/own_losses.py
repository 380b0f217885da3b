"""Loss functions, with every reduction."""

from __future__ import annotations

from collections.abc import Iterator

import torch.nn.functional as F

from opsmeasure.samples import Sample, call, ints, mask, rand


def samples() -> Iterator[Sample]:
    """The calls."""
    for reduction in ("mean", "sum", "none"):
        yield from _losses(reduction)
    yield call(F.kl_div, rand(3, 4), rand(3, 4), reduction="batchmean")


def _losses(reduction: str) -> Iterator[Sample]:
    kw = {"reduction": reduction}
    signs = mask(3).float() * 2 - 1
    for func in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        yield call(func, rand(3, 4), rand(3, 4), **kw)
    yield call(F.mse_loss, rand(3, 4), rand(3, 4), weight=rand(3, 4), **kw)
    yield call(F.smooth_l1_loss, rand(3, 4), rand(3, 4), beta=0.0, **kw)
    yield call(F.cross_entropy, rand(3, 4), ints(4, 3), **kw)
    yield call(F.cross_entropy, rand(3, 4), ints(4, 3), label_smoothing=0.1, **kw)
    yield call(F.cross_entropy, rand(3, 4), rand(3, 4), **kw)
    yield call(F.cross_entropy, rand(3, 4), rand(3, 4), label_smoothing=0.1, **kw)
    yield call(F.cross_entropy, rand(3, 4), ints(4, 3), rand(4), **kw)
    yield call(F.cross_entropy, rand(3, 4), ints(4, 3), ignore_index=0, **kw)
    yield call(F.cross_entropy, rand(2, 4, 3, 3), ints(4, 2, 3, 3), **kw)
    yield call(F.nll_loss, rand(3, 4), ints(4, 3), **kw)
    yield call(F.nll_loss, rand(3, 4), ints(4, 3), rand(4), **kw)
    yield call(F.nll_loss, rand(2, 4, 3, 3), ints(4, 2, 3, 3), **kw)
    yield call(F.binary_cross_entropy, rand(3, 4), rand(3, 4), **kw)
    yield call(F.binary_cross_entropy, rand(3, 4), rand(3, 4), rand(3, 4), **kw)
    yield call(F.binary_cross_entropy_with_logits, rand(3, 4), rand(3, 4), **kw)
    yield call(F.binary_cross_entropy_with_logits, rand(3, 4), rand(3, 4), weight=rand(3, 4), **kw)
    yield call(F.binary_cross_entropy_with_logits, rand(3, 4), rand(3, 4), pos_weight=rand(4), **kw)
    yield call(F.kl_div, rand(3, 4), rand(3, 4), **kw)
    yield call(F.kl_div, rand(3, 4), rand(3, 4), log_target=True, **kw)
    yield call(F.poisson_nll_loss, rand(3, 4), rand(3, 4), **kw)
    yield call(F.poisson_nll_loss, rand(3, 4), rand(3, 4), log_input=False, full=True, **kw)
    yield call(F.gaussian_nll_loss, rand(3, 4), rand(3, 4), rand(3, 4), **kw)
    yield call(F.gaussian_nll_loss, rand(3, 4), rand(3, 4), rand(3, 4), full=True, **kw)
    yield call(F.cosine_embedding_loss, rand(3, 4), rand(3, 4), signs, **kw)
    yield call(F.hinge_embedding_loss, rand(3), signs, **kw)
    yield call(F.margin_ranking_loss, rand(3), rand(3), signs, **kw)
    yield call(F.margin_ranking_loss, rand(3), rand(3), signs, margin=0.5, **kw)
    yield call(F.triplet_margin_loss, rand(3, 4), rand(3, 4), rand(3, 4), **kw)
    yield call(F.triplet_margin_loss, rand(3, 4), rand(3, 4), rand(3, 4), swap=True, **kw)
    yield call(F.triplet_margin_with_distance_loss, rand(3, 4), rand(3, 4), rand(3, 4), **kw)
    yield call(F.soft_margin_loss, rand(3), signs, **kw)
    yield call(F.multilabel_margin_loss, rand(3, 4), ints(4, 3, 4), **kw)
    yield call(F.multilabel_soft_margin_loss, rand(3, 4), rand(3, 4), **kw)
    yield call(F.multi_margin_loss, rand(3, 4), ints(4, 3), **kw)
    probabilities = rand(5, 2, 4).log_softmax(2)
    lengths = (5, 5), (2, 2)
    yield call(F.ctc_loss, probabilities, ints(3, 2, 2) + 1, *lengths, **kw)
