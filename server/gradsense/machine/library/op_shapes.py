"""The sizes of an op's results, by the op's name and its arguments' public names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradsense.machine import shapes
from gradsense.machine.graph import Shape, Tensor
from gradsense.machine.values import ListValue, Unknown, Value

Bound = Mapping[str, Value]

ELEMENTWISE = frozenset(
    """exp log log2 log10 log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh sigmoid abs neg
    square reciprocal erf erfc erfinv sign round floor ceil trunc frac clamp clip logit softmax
    log_softmax softmin relu gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid
    softplus softsign logsigmoid tanhshrink hardshrink softshrink threshold relu6 rrelu dropout
    alpha_dropout feature_alpha_dropout masked_fill cumsum cumprod flip roll tril triu clone contiguous
    detach layer_norm batch_norm instance_norm group_norm rms_norm normalize nan_to_num digamma lgamma
    sinc exp2 fill index_fill index_add index_copy scatter scatter_add masked_scatter bernoulli dropout1d
    dropout2d dropout3d local_response_norm gumbel_softmax sort argsort logcumsumexp cummax cummin
    heaviside renorm index_put view_as_real requires_grad_ conj resolve_conj positive float double half
    bfloat16""".split()
)
BINARY = frozenset(
    """add sub mul div true_divide pow remainder fmod maximum minimum atan2 hypot logaddexp logaddexp2
    floor_divide eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor
    xlogy lerp addcmul addcdiv copysign float_power nextafter rsub""".split()
)
REDUCTIONS = frozenset(
    """sum mean prod norm std var amax amin max min median logsumexp nansum nanmean all any argmax argmin
    count_nonzero mode""".split()
)
PER_SAMPLE_LOSSES = frozenset(("cross_entropy", "nll_loss"))


def is_loss(name: str) -> bool:
    """Whether the op is a loss with a `reduction`."""
    return name.endswith("_loss") or name in (
        "cross_entropy",
        "kl_div",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    )


def result_shape(name: str, bound: Bound) -> Shape | None:
    """The size of the first result, None if unknown."""
    short = name.rpartition(".")[2]
    given = bound.get("input")
    shape = given.shape if isinstance(given, Tensor) else None
    if is_loss(short):
        return _loss(short, bound, shape)
    if short in REDUCTIONS or name in ("linalg.norm", "linalg.vector_norm"):
        return _reduced(short, bound, shape)
    if short in ELEMENTWISE:
        return shape
    if short in BINARY:
        return _binary(bound)
    special = _SPECIAL.get(short)
    return special(bound, shape) if special is not None else None


def _loss(name: str, bound: Bound, shape: Shape | None) -> Shape | None:
    reduction = bound.get("reduction", "mean")
    if reduction in ("mean", "sum", "batchmean"):
        return ()
    if reduction != "none" or shape is None:
        return None
    if name in PER_SAMPLE_LOSSES:
        return (shape[0], *shape[2:]) if len(shape) >= 2 else None
    return _binary(bound)


def _reduced(name: str, bound: Bound, shape: Shape | None) -> Shape | None:
    if isinstance(bound.get("other"), Tensor):
        return _binary(bound)
    dim = bound.get("dim", bound.get("axis"))
    unbiased = bound.get("unbiased")
    if dim is None and not isinstance(unbiased, (bool, type(None))):
        # `std(0)`: a number in that place is a dimension.
        dim = unbiased
    if dim is None:
        return ()
    return shapes.without(shape, dim, bound.get("keepdim") is True)


def _binary(bound: Bound) -> Shape | None:
    result: Shape | None = ()
    for name in ("input", "other", "exponent", "end", "weight", "tensor1", "tensor2", "condition", "target"):
        value = bound.get(name)
        if isinstance(value, Tensor):
            if name == "weight" and value.shape is None:
                continue
            result = shapes.broadcast(result, value.shape)
        elif isinstance(value, Unknown) and not value.number:
            return None
    return result


def _other(bound: Bound, *names: str) -> Shape | None:
    for name in names:
        value = bound.get(name)
        if isinstance(value, Tensor):
            return value.shape
    return None


def _sizes(bound: Bound, *names: str) -> Shape | None:
    for name in names:
        if name in bound:
            value = bound[name]
            return shapes.size_arguments(value if isinstance(value, (tuple, list)) else [value])
    return None


def _linear(bound: Bound, shape: Shape | None) -> Shape | None:
    weight = _other(bound, "weight")
    if not shape or not weight or len(weight) != 2:
        return None
    return (*shape[:-1], weight[0])


def _embedding(bound: Bound, shape: Shape | None) -> Shape | None:
    weight = _other(bound, "weight")
    return (*shape, weight[1]) if shape is not None and weight and len(weight) == 2 else None


def _tensors(bound: Bound) -> list[Shape | None]:
    value = bound.get("tensors")
    parts = value.items if isinstance(value, ListValue) else value if isinstance(value, (list, tuple)) else []
    return [p.shape if isinstance(p, Tensor) else None for p in parts]


def _cat(bound: Bound, _: Shape | None) -> Shape | None:
    return shapes.concatenated(_tensors(bound), bound.get("dim", 0))


def _stack(bound: Bound, _: Shape | None) -> Shape | None:
    parts = _tensors(bound)
    if not parts or parts[0] is None:
        return None
    return shapes.unsqueezed(parts[0], bound.get("dim", 0)) and _placed(parts[0], len(parts), bound.get("dim", 0))


def _placed(shape: Shape, count: int, dim: Value) -> Shape | None:
    if not isinstance(dim, int):
        return None
    at = dim if dim >= 0 else len(shape) + 1 + dim
    return (*shape[:at], count, *shape[at:])


def _view(bound: Bound, shape: Shape | None) -> Shape | None:
    for name in ("shape", "size"):
        if name in bound:
            wanted = bound[name]
            parts = (
                wanted.items
                if isinstance(wanted, ListValue)
                else wanted
                if isinstance(wanted, (tuple, list))
                else [wanted]
            )
            if len(parts) == 1 and isinstance(parts[0], tuple):
                parts = parts[0]
            return shapes.reshaped(shape, shapes.size_arguments(list(parts)), list(parts))
    return None


def _expand(bound: Bound, shape: Shape | None) -> Shape | None:
    sizes = _sizes(bound, "size", "sizes")
    if sizes is None or shape is None:
        return sizes
    offset = len(sizes) - len(shape)
    return tuple(
        size if size is not None else shape[i - offset] if i >= offset else None for i, size in enumerate(sizes)
    )


def _select(bound: Bound, shape: Shape | None) -> Shape | None:
    return shapes.without(shape, bound.get("dim", 0), False)


def _narrow(bound: Bound, shape: Shape | None) -> Shape | None:
    dim, length = bound.get("dim"), bound.get("length")
    if shape is None or not isinstance(dim, int) or not shape:
        return None
    at = dim % len(shape)
    return (*shape[:at], length if isinstance(length, int) else None, *shape[at + 1 :])


def _gather(bound: Bound, _: Shape | None) -> Shape | None:
    return _other(bound, "index", "indices")


def _index_select(bound: Bound, shape: Shape | None) -> Shape | None:
    index, dim = _other(bound, "index"), bound.get("dim")
    if shape is None or not isinstance(dim, int) or not shape:
        return None
    at = dim % len(shape)
    return (*shape[:at], index[0] if index else None, *shape[at + 1 :])


def _topk(bound: Bound, shape: Shape | None) -> Shape | None:
    k, dim = bound.get("k"), bound.get("dim", -1)
    if not shape or not isinstance(dim, int):
        return None
    at = dim % len(shape)
    return (*shape[:at], k if isinstance(k, int) else None, *shape[at + 1 :])


def _matmul(bound: Bound, shape: Shape | None) -> Shape | None:
    return shapes.matmul(shape, _other(bound, "other", "mat2", "vec"))


def _diagonal(bound: Bound, shape: Shape | None) -> Shape | None:
    return (*shape[:-2], None) if shape is not None and len(shape) >= 2 else None


def _cosine(bound: Bound, _: Shape | None) -> Shape | None:
    first, second = _other(bound, "x1"), _other(bound, "x2")
    dim = bound.get("dim", 1 if "dim" not in bound else None)
    return shapes.without(shapes.broadcast(first, second), dim, False)


def _repeat(bound: Bound, shape: Shape | None) -> Shape | None:
    times = _sizes(bound, "repeats", "dims")
    if shape is None or times is None:
        return None
    count = max(len(times), len(shape))
    sizes, factors = (1,) * (count - len(shape)) + shape, (1,) * (count - len(times)) + times
    return tuple(None if s is None or f is None else s * f for s, f in zip(sizes, factors, strict=True))


def _added(*names: str) -> Callable[[Bound, Shape | None], Shape | None]:
    def product(bound: Bound, _: Shape | None) -> Shape | None:
        return shapes.matmul(_other(bound, names[0]), _other(bound, names[1]))

    return product


def _pad(bound: Bound, shape: Shape | None) -> Shape | None:
    given = bound.get("pad")
    pairs = given.items if isinstance(given, ListValue) else list(given) if isinstance(given, (tuple, list)) else None
    if shape is None or pairs is None or len(pairs) % 2 or len(pairs) > 2 * len(shape):
        return None
    result = list(shape)
    for index in range(len(pairs) // 2):
        before, after, size = pairs[2 * index], pairs[2 * index + 1], result[-1 - index]
        if size is None or not isinstance(before, int) or not isinstance(after, int):
            result[-1 - index] = None
        else:
            result[-1 - index] = size + before + after
    return tuple(result)


def _glu(bound: Bound, shape: Shape | None) -> Shape | None:
    dim = bound.get("dim", -1)
    if not shape or not isinstance(dim, int):
        return None
    at = dim % len(shape)
    size = shape[at]
    return (*shape[:at], None if size is None else size // 2, *shape[at + 1 :])


def _unflatten(bound: Bound, shape: Shape | None) -> Shape | None:
    dim, sizes = bound.get("dim"), _sizes(bound, "sizes", "unflattened_size")
    if not shape or not isinstance(dim, int) or sizes is None:
        return None
    at = dim % len(shape)
    return (*shape[:at], *(shapes.reshaped((shape[at],), sizes, list(sizes)) or ()), *shape[at + 1 :])


def _side_by_side(dim: int) -> Callable[[Bound, Shape | None], Shape | None]:
    def joined(bound: Bound, _: Shape | None) -> Shape | None:
        parts = _tensors(bound)
        if not parts or any(p is None for p in parts):
            return None
        flat = dim == 1 and parts[0] is not None and len(parts[0]) == 1
        raised = [p if flat or p is None or len(p) > 1 else (1, *(p or (1,))) for p in parts]
        return shapes.concatenated(raised, 0 if flat else dim)

    return joined


_SPECIAL: dict[str, Callable[[Bound, Shape | None], Shape | None]] = {
    "linear": _linear,
    "repeat": _repeat,
    "tile": _repeat,
    "addmm": _added("mat1", "mat2"),
    "addmv": _added("mat", "vec"),
    "baddbmm": _added("batch1", "batch2"),
    "pad": _pad,
    "glu": _glu,
    "unflatten": _unflatten,
    "hstack": _side_by_side(1),
    "vstack": _side_by_side(0),
    "embedding": _embedding,
    "cat": _cat,
    "stack": _stack,
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "mv": _matmul,
    "dot": lambda b, s: (),
    "vdot": lambda b, s: (),
    "dist": lambda b, s: (),
    "trace": lambda b, s: (),
    "det": lambda b, s: shapes.without(s, (-1, -2), False),
    "logdet": lambda b, s: shapes.without(s, (-1, -2), False),
    "view": _view,
    "reshape": _view,
    "view_as": lambda b, s: _other(b, "other"),
    "reshape_as": lambda b, s: _other(b, "other"),
    "expand_as": lambda b, s: _other(b, "other"),
    "type_as": lambda b, s: s,
    "expand": _expand,
    "select": _select,
    "narrow": _narrow,
    "squeeze": lambda b, s: shapes.squeezed(s, b.get("dim")),
    "unsqueeze": lambda b, s: shapes.unsqueezed(s, b.get("dim")),
    "t": lambda b, s: s[::-1] if s is not None and len(s) <= 2 else None,
    "transpose": lambda b, s: shapes.transposed(s, b.get("dim0"), b.get("dim1")),
    "swapaxes": lambda b, s: shapes.transposed(s, b.get("axis0"), b.get("axis1")),
    "permute": lambda b, s: shapes.permuted(s, _sizes(b, "dims")),
    "flatten": lambda b, s: shapes.flattened(s, b.get("start_dim", 0), b.get("end_dim", -1)),
    "ravel": lambda b, s: shapes.flattened(s),
    "gather": _gather,
    "take": _gather,
    "index_select": _index_select,
    "topk": _topk,
    "diagonal": _diagonal,
    "diag": lambda b, s: (None,) if s is not None and len(s) == 2 else None,
    "cosine_similarity": _cosine,
    "where": lambda b, s: _binary(b),
    "triplet": lambda b, s: (),
    "outer": lambda b, s: (s[0], o[0]) if s and (o := _other(b, "vec2", "other")) else None,
    "cdist": lambda b, s: None,
    "one_hot": lambda b, s: (*s, None) if s is not None else None,
    "softmax": lambda b, s: s,
}
