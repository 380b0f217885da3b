"""Layers: convolution, normalisation, dropout, activation, pooling, resampling, embedding, recurrence."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from opsmeasure.samples import Sample, call, ints, rand


def samples() -> Iterator[Sample]:
    """The calls."""
    yield from _linear()
    yield from _convolutions()
    yield from _norms()
    yield from _dropouts()
    yield from _activations()
    yield from _pooling()
    yield from _resampling()
    yield from _embeddings()
    yield from _recurrent()


def _linear() -> Iterator[Sample]:
    yield call(F.linear, rand(3, 4), rand(5, 4))
    yield call(F.linear, rand(3, 4), rand(5, 4), rand(5))
    yield call(F.linear, rand(2, 3, 4), rand(5, 4), rand(5))
    yield call(F.linear, rand(2, 3, 4), rand(5, 4))
    yield call(F.linear, rand(4), rand(5, 4), rand(5))
    yield call(F.bilinear, rand(3, 4), rand(3, 2), rand(5, 4, 2), rand(5))


def _convolutions() -> Iterator[Sample]:
    for dims in (1, 2, 3):
        size = (8,) * dims
        kernel = (3,) * dims
        for bias in (None, rand(4)):
            yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(4, 3, *kernel), bias)
            yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(4, 3, *kernel), bias, 2, 1)
            yield call(getattr(F, f"conv_transpose{dims}d"), rand(2, 3, *size), rand(3, 4, *kernel), bias)
        yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(3, 1, *kernel), groups=3)
        yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(4, 3, *kernel), padding="same")
        yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(4, 3, *kernel), rand(4), padding="same")
        yield call(getattr(F, f"conv{dims}d"), rand(2, 3, *size), rand(4, 3, *kernel), dilation=2)
        yield call(getattr(F, f"conv{dims}d"), rand(3, *size), rand(4, 3, *kernel))


def _norms() -> Iterator[Sample]:
    for training in (True, False):
        for affine in (True, False):
            pair = (rand(4), rand(4)) if affine else (None, None)
            yield call(F.batch_norm, rand(3, 4), rand(4), rand(4), *pair, training)
            yield call(F.batch_norm, rand(2, 4, 5, 5), rand(4), rand(4), *pair, training=training)
        yield call(F.instance_norm, rand(2, 4, 5), rand(4), rand(4), rand(4), rand(4), use_input_stats=training)
    yield call(F.batch_norm, rand(3, 4), None, None, rand(4), rand(4), True)
    yield call(torch.batch_norm, rand(3, 4), rand(4), rand(4), rand(4), rand(4), True, 0.1, 1e-5, False)
    yield call(torch.batch_norm, rand(3, 4), rand(4), rand(4), rand(4), rand(4), False, 0.1, 1e-5, False)
    yield call(F.instance_norm, rand(2, 4, 5))
    yield call(F.instance_norm, rand(2, 4, 5), weight=rand(4), bias=rand(4))
    for weight, bias in ((None, None), (rand(4), rand(4)), (rand(4), None)):
        yield call(F.layer_norm, rand(3, 4), (4,), weight, bias)
        yield call(F.group_norm, rand(2, 4, 5), 2, weight, bias)
    for weight in (None, rand(4)):
        yield call(F.rms_norm, rand(3, 4), (4,), weight)
    yield call(F.local_response_norm, rand(2, 4, 5, 5), 2)
    yield call(F.normalize, rand(3, 4))
    yield call(F.normalize, rand(3, 4), p=1, dim=0)
    yield call(F.cosine_similarity, rand(3, 4), rand(3, 4))
    yield call(F.cosine_similarity, rand(3, 4), rand(3, 4), dim=-1)
    yield call(F.pairwise_distance, rand(3, 4), rand(3, 4))


def _dropouts() -> Iterator[Sample]:
    shapes = {F.dropout1d: (2, 3, 4), F.dropout2d: (2, 3, 4, 4), F.dropout3d: (2, 3, 4, 4, 4)}
    for func in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout):
        shape = shapes.get(func, (2, 3))
        for p in (0.5, 0.1, 0.0, 1.0):
            yield call(func, rand(*shape), p, True)
            yield call(func, rand(*shape), p, False)
        if func is F.dropout:
            yield call(func, rand(*shape))


def _activations() -> Iterator[Sample]:
    names = (
        "relu relu6 elu selu celu leaky_relu rrelu gelu silu mish hardtanh hardswish hardsigmoid hardshrink softshrink"
        " tanhshrink softplus softsign logsigmoid sigmoid tanh"
    )
    for name in names.split():
        yield call(getattr(F, name), rand(3, 4) - 0.5)
    yield call(F.rrelu, rand(3, 4) - 0.5, training=True)
    yield call(F.gelu, rand(3, 4), approximate="tanh")
    yield call(F.threshold, rand(3, 4), 0.3, 0.0)
    yield call(F.leaky_relu, rand(3, 4) - 0.5, 0.2)
    yield call(F.glu, rand(3, 4))
    yield call(F.prelu, rand(3, 4) - 0.5, rand(1))
    yield call(F.prelu, rand(3, 4) - 0.5, rand(4))
    for func in (F.softmax, F.log_softmax, F.softmin):
        yield call(func, rand(3, 4), dim=1)
        yield call(func, rand(3, 4), dim=-1, dtype=torch.float64)
    for hard in (True, False):
        yield call(F.gumbel_softmax, rand(3, 4), hard=hard)
    yield call(F.one_hot, ints(4, 3))
    yield call(F.one_hot, ints(4, 3), 4)


def _pooling() -> Iterator[Sample]:
    for dims in (1, 2, 3):
        source = (2, 3, *(8,) * dims)
        for kind in ("max", "avg"):
            yield call(getattr(F, f"{kind}_pool{dims}d"), rand(*source), 2)
            yield call(getattr(F, f"{kind}_pool{dims}d"), rand(*source), 3, 2, 1)
            yield call(getattr(F, f"adaptive_{kind}_pool{dims}d"), rand(*source), 2)
            yield call(getattr(F, f"adaptive_{kind}_pool{dims}d"), rand(*source), 1)
        yield call(getattr(F, f"max_pool{dims}d"), rand(*source), 2, return_indices=True)
        yield call(getattr(F, f"adaptive_max_pool{dims}d"), rand(*source), 2, return_indices=True)
        yield call(getattr(F, f"lp_pool{dims}d"), rand(*source), 2, 2)
        pooled, indices = getattr(F, f"max_pool{dims}d")(rand(*source), 2, return_indices=True)
        yield call(getattr(F, f"max_unpool{dims}d"), pooled, indices, 2)
    yield call(F.fractional_max_pool2d, rand(2, 3, 8, 8), 2, output_size=3)
    yield call(F.fractional_max_pool3d, rand(2, 3, 8, 8, 8), 2, output_size=3)


def _resampling() -> Iterator[Sample]:
    for mode, dims in (("nearest", 1), ("linear", 1), ("area", 1), ("nearest", 2), ("bilinear", 2), ("bicubic", 2),
                       ("area", 2), ("nearest-exact", 2), ("nearest", 3), ("trilinear", 3), ("area", 3)):  # fmt: skip
        source = (2, 3, *(4,) * dims)
        yield call(F.interpolate, rand(*source), scale_factor=2, mode=mode)
        yield call(F.interpolate, rand(*source), (6,) * dims, mode=mode)
        if mode.endswith("linear"):
            yield call(F.interpolate, rand(*source), scale_factor=2, mode=mode, align_corners=True)
        if "area" not in mode:
            yield call(F.upsample, rand(*source), scale_factor=2, mode=mode)
    yield call(F.interpolate, rand(2, 3, 8, 8), scale_factor=0.5, mode="bilinear", antialias=True)
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield call(F.pad, rand(2, 3, 4), (1, 1), mode=mode)
        yield call(F.pad, rand(2, 3, 4, 4), (1, 1, 1, 1), mode=mode)
        yield call(F.pad, rand(2, 3, 4), (1, 1), mode)
    yield call(F.pad, rand(3, 4), (1, 1), value=0.5)
    yield call(F.unfold, rand(2, 3, 8, 8), 3)
    yield call(F.fold, rand(2, 27, 36), (8, 8), 3)
    for func in (F.pixel_shuffle, F.pixel_unshuffle):
        yield call(func, rand(2, 4, 4, 4), 2)
    yield call(F.channel_shuffle, rand(2, 4, 4, 4), 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield call(F.grid_sample, rand(2, 3, 4, 4), rand(2, 4, 4, 2), mode=mode, align_corners=False)
    yield call(F.grid_sample, rand(2, 3, 4, 4, 4), rand(2, 4, 4, 4, 3), align_corners=False)
    yield call(F.affine_grid, rand(2, 2, 3), [2, 3, 4, 4], align_corners=False)


def _embeddings() -> Iterator[Sample]:
    yield call(F.embedding, ints(5, 3), rand(5, 4))
    yield call(F.embedding, ints(5, 2, 3), rand(5, 4), padding_idx=0)
    yield call(F.embedding, ints(5, 3), rand(5, 4), max_norm=1.0)
    yield call(F.embedding, ints(5, 3), rand(5, 4), scale_grad_by_freq=True)
    for mode in ("mean", "sum", "max"):
        yield call(F.embedding_bag, ints(5, 2, 3), rand(5, 4), mode=mode)
        yield call(F.embedding_bag, ints(5, 6), rand(5, 4), torch.tensor([0, 3]), mode=mode)
    yield call(F.embedding_bag, ints(5, 2, 3), rand(5, 4), mode="sum", per_sample_weights=rand(2, 3))
    yield call(torch.embedding, rand(5, 4), ints(5, 3))


def _recurrent() -> Iterator[Sample]:
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        func = getattr(torch, name)
        for biases, layers in ((True, 1), (False, 1), (True, 2), (False, 2)):
            params = [gate for layer in range(layers) for gate in _gates(gates, 5 if layer else 3, biases)]
            state = _state(name, layers, 2, 5)
            for train in (True, False):
                yield call(func, rand(4, 2, 3), state, params, biases, layers, 0.0, train, False, False)
            yield call(func, rand(8, 3), torch.tensor([2, 2, 2, 2]), state, params, biases, layers, 0.0, True, False)
        for biases in (True, False):
            state = _state(name, 2, 5)
            yield call(getattr(torch, f"{name}_cell"), rand(2, 3), state, *_gates(gates, 3, biases))


def _state(name: str, *sizes: int) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    return (rand(*sizes), rand(*sizes)) if name == "lstm" else rand(*sizes)


def _gates(gates: int, width: int, biases: bool) -> list[torch.Tensor]:
    weights = [rand(gates * 5, width), rand(gates * 5, 5)]
    return [*weights, rand(gates * 5), rand(gates * 5)] if biases else weights
