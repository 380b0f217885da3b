"""How a tensor lies in memory: whether a view is contiguous, and whether elements of it share a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradsense.machine.graph import Shape, Strides, Tensor
from gradsense.machine.shapes import kept_by_index
from gradsense.machine.values import ListValue, Unknown, Value


def of(tensor: Tensor) -> Strides | None:
    """A tensor's strides, None if unknown."""
    if tensor.strides is not None:
        return tensor.strides
    return packed(tensor.shape) if tensor.contiguous and not tensor.expanded else None


def packed(shape: Shape | None) -> Strides | None:
    """The strides of a contiguous tensor of this size."""
    if shape is None:
        return None
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        if size is None:
            return None
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_packed(shape: Shape, strides: Strides) -> bool:
    """torch's `is_contiguous()`: the strides of dimensions of one element do not count."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size if size is not None else 1
    return True


def overlap(shape: Shape, strides: Strides) -> bool:
    """Whether several elements are one in memory, as far as torch looks before it writes."""
    return any(size != 1 and stride == 0 for size, stride in zip(shape, strides, strict=True))


def indexed(tensor: Tensor, index: Value) -> Strides | None:
    """The strides of a view by basic indexing."""
    strides = of(tensor)
    kept = None if strides is None else kept_by_index(len(strides), index)
    if strides is None or kept is None or tensor.shape is None:
        return None
    result: list[int] = []
    for part, position in kept:
        if part is not None and not (part.step is None or isinstance(part.step, int)):
            return None
        result.append(0 if part is None else strides[position] * (part.step or 1))
    return tuple(result)


def viewed(shape: Shape, strides: Strides, wanted: Shape | None) -> Strides | None:
    """The strides of `view(wanted)`, None where this memory has no such view, or where a size is not known.

    As torch's `computeStride` has it: runs of dimensions that lie behind one another are cut anew.
    """
    old = tuple(size for size in shape if size is not None)
    new = tuple(size for size in wanted or () if size is not None)
    if wanted is None or len(new) != len(wanted) or len(old) != len(shape):
        return None
    if is_packed(shape, strides) or not old:
        return packed(wanted)
    result = [0] * len(new)
    last = len(new) - 1
    base, run, taken = strides[-1], 1, 1
    for at in range(len(old) - 1, -1, -1):
        run *= old[at]
        if at and (old[at - 1] == 1 or strides[at - 1] == run * base):
            continue
        while last >= 0 and (taken < run or new[last] == 1):
            result[last] = taken * base
            taken *= new[last]
            last -= 1
        if taken != run:
            return None
        if at:
            base, run, taken = strides[at - 1], 1, 1
    return tuple(result) if last < 0 else None


def of_view(op: str, bound: Mapping[str, object], tensor: Tensor, shape: Shape | None) -> Strides | None:
    """The strides of the result of an op that makes a view."""
    strides = of(tensor)
    size = tensor.shape
    if strides is None or size is None or shape is None:
        return None
    count = len(strides)
    if op in ("view", "reshape", "flatten", "ravel", "view_as", "reshape_as", "unflatten"):
        return viewed(size, strides, shape)
    if op in ("expand", "expand_as", "broadcast_to"):
        if len(shape) < count or None in shape:
            return None
        padded = (0,) * (len(shape) - count) + strides
        sizes = (1,) * (len(shape) - count) + size
        return tuple(0 if old != new else stride for old, new, stride in zip(sizes, shape, padded, strict=True))
    if op == "t":
        return strides[::-1]
    if op in ("transpose", "swapaxes", "swapdims"):
        ends = [bound.get(n) for n in (("axis0", "axis1") if op == "swapaxes" else ("dim0", "dim1"))]
        if not count or not all(isinstance(e, int) for e in ends):
            return None
        first, second = (e % count for e in ends if isinstance(e, int))
        swapped = list(strides)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        return tuple(swapped)
    if op == "permute":
        dims = _numbers(bound.get("dims"))
        return tuple(strides[d] for d in dims) if dims is not None and len(dims) == count else None
    dim = bound.get("dim", 0)
    if op == "squeeze" and isinstance(dim, tuple) and len(dim) == 1:
        dim = dim[0]
    if not isinstance(dim, int) or isinstance(dim, bool) or not -count - 1 <= dim <= count:
        return None
    if op == "select" and count:
        return tuple(s for i, s in enumerate(strides) if i != dim % count)
    if op == "narrow":
        return strides
    if op == "unsqueeze":
        at = dim if dim >= 0 else count + 1 + dim
        return (*strides[:at], strides[at] * (size[at] or 1) if at < count else 1, *strides[at:])
    if op == "squeeze":
        if bound.get("dim") is None:
            kept = tuple(stride for stride, n in zip(strides, size, strict=True) if n != 1)
        else:
            kept = strides if len(shape) == count else tuple(s for i, s in enumerate(strides) if i != dim % count)
        return kept if len(kept) == len(shape) else None
    return None


def _numbers(value: object) -> list[int] | None:
    parts: Sequence[object]
    if isinstance(value, ListValue):
        parts = value.items
    elif isinstance(value, (tuple, list)):
        parts = value
    else:
        return None
    if len(parts) == 1 and isinstance(parts[0], (tuple, list, ListValue)):
        return _numbers(parts[0])
    if any(isinstance(p, Unknown) or not isinstance(p, int) for p in parts):
        return None
    return [p for p in parts if isinstance(p, int)]
