"""Sizes of tensors, as far as they are known."""

from __future__ import annotations

from collections.abc import Sequence

from gradsense.machine.graph import Shape
from gradsense.machine.values import ListValue, Unknown, Value


def broadcast(first: Shape | None, second: Shape | None) -> Shape | None:
    """The size that two operands broadcast to."""
    if first is None or second is None:
        return None
    if len(first) < len(second):
        first, second = second, first
    padded = (1,) * (len(first) - len(second)) + second
    return tuple(b if a == 1 else a if b == 1 or a == b else None for a, b in zip(first, padded, strict=True))


def size_arguments(arguments: Sequence[Value]) -> Shape | None:
    """Sizes given as `(2, 3)`, `[2, 3]` or `2, 3`; None if even their number is unknown."""
    if len(arguments) == 1 and not isinstance(arguments[0], int):
        only = arguments[0]
        if isinstance(only, ListValue) and not only.homogeneous:
            arguments = only.items
        elif isinstance(only, tuple):
            arguments = only
        elif isinstance(only, Unknown):
            return None
    if any(isinstance(a, (ListValue, tuple)) for a in arguments):
        return None
    return tuple(a if isinstance(a, int) and a >= 0 else None for a in arguments)


def kept_by_index(rank: int, index: Value) -> list[tuple[slice | None, int]] | None:
    """The dimensions of a view by basic indexing, or None where the index does not fit.

    Args:
        rank: how many dimensions there are to index.

    Returns:
        For each dimension of the view, what is taken of which dimension; None in place of a slice for a new one.
    """
    parts = index if isinstance(index, tuple) else (index,)
    used = sum(1 for p in parts if p is not None and p is not ...)
    if used > rank or sum(1 for p in parts if p is ...) > 1:
        return None
    kept: list[tuple[slice | None, int]] = []
    position = 0
    for part in parts:
        if part is None:
            kept.append((None, position))
        elif part is ...:
            kept += [(slice(None), position + number) for number in range(rank - used)]
            position += rank - used
        else:
            if isinstance(part, slice):
                kept.append((part, position))
            position += 1
    return kept + [(slice(None), rest) for rest in range(position, rank)]


def index_shape(shape: Shape | None, index: Value) -> Shape | None:
    """The size of a view by basic indexing."""
    kept = None if shape is None else kept_by_index(len(shape), index)
    if shape is None or kept is None:
        return None
    return tuple(1 if part is None else slice_length(part, shape[position]) for part, position in kept)


def is_whole(index: Value, shape: Shape | None) -> bool:
    """Whether an index takes all of a tensor as it is: `x[:]`, `x[...]`, `x[0:n]` of n rows."""
    parts = index if isinstance(index, tuple) else (index,)
    for position, part in enumerate(parts):
        if part is ...:
            continue
        if not isinstance(part, slice) or part.step not in (None, 1) or part.start not in (None, 0):
            return False
        if part.stop is not None:
            size = shape[position] if shape is not None and ... not in parts and position < len(shape) else None
            if size is None or not isinstance(part.stop, int) or part.stop < size:
                return False
    return True


def slice_length(part: slice, size: int | None) -> int | None:
    """How many elements a slice takes."""
    if not all(p is None or isinstance(p, int) for p in (part.start, part.stop, part.step)):
        return None
    if part.start is None and part.stop is None and part.step is None:
        return size
    if size is None:
        return None
    try:
        return len(range(*part.indices(size)))
    except (TypeError, ValueError):
        return None


def matmul(first: Shape | None, second: Shape | None) -> Shape | None:
    """The size of `a @ b`."""
    if not first or not second:
        return None
    if len(second) == 1:
        return first[:-1]
    if len(first) == 1:
        return (*second[:-2], second[-1])
    if len(first) == 2 and len(second) == 2:
        return (first[0], second[1])
    batch = broadcast(first[:-2], second[:-2])
    return None if batch is None else (*batch, first[-2], second[-1])


def einsum(equation: str, operands: Sequence[Shape | None]) -> Shape | None:
    """The size of `einsum(equation, *operands)`; an ellipsis is not followed."""
    given, arrow, wanted = equation.replace(" ", "").partition("->")
    letters = given.split(",")
    if "." in equation or len(letters) != len(operands):
        return () if arrow and not wanted else None
    sizes: dict[str, int | None] = {}
    for names, shape in zip(letters, operands, strict=True):
        if shape is None or len(names) != len(shape):
            shape = (None,) * len(names)
        for name, size in zip(names, shape, strict=True):
            sizes[name] = sizes.get(name) or size
    if not arrow:
        joined = "".join(letters)
        wanted = "".join(sorted(name for name in set(joined) if joined.count(name) == 1))
    return tuple(sizes.get(name) for name in wanted)


def without(shape: Shape | None, dim: Value, keep: bool) -> Shape | None:
    """The size after a reduction over `dim`."""
    if shape is None:
        return None
    dims = dim.items if isinstance(dim, ListValue) else list(dim) if isinstance(dim, tuple) else [dim]
    if not all(isinstance(d, int) for d in dims):
        return None
    drop = {d % len(shape) if shape else 0 for d in dims if isinstance(d, int)}
    if keep:
        return tuple(1 if i in drop else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in drop)


def reshaped(shape: Shape | None, sizes: Shape | None, wanted: Sequence[Value]) -> Shape | None:
    """The size of `view(*wanted)`; one `-1` is computed where all else is known."""
    if sizes is None:
        return None
    unknown = [i for i, s in enumerate(sizes) if s is None]
    if len(unknown) != 1 or shape is None or any(s is None for s in shape):
        return sizes
    total = 1
    for size in shape:
        total *= size or 0
    known = 1
    for size in sizes:
        known *= 1 if size is None else size
    filled = list(sizes)
    filled[unknown[0]] = total // known if known and total % known == 0 else None
    return tuple(filled)


def squeezed(shape: Shape | None, dim: Value) -> Shape | None:
    """The size of `squeeze(dim)`."""
    if shape is None:
        return None
    if dim is None:
        return tuple(s for s in shape if s != 1) if all(s is not None for s in shape) else None
    given = dim.items if isinstance(dim, ListValue) else list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if len(given) == 1 and isinstance(given[0], (tuple, ListValue)):
        return squeezed(shape, given[0])
    dims = {d % len(shape) for d in given if isinstance(d, int) and shape}
    if len(dims) != len(given) or any(shape[d] is None for d in dims):
        return None
    return tuple(size for at, size in enumerate(shape) if at not in dims or size != 1)


def unsqueezed(shape: Shape | None, dim: Value) -> Shape | None:
    """The size of `unsqueeze(dim)`."""
    if shape is None or not isinstance(dim, int):
        return None
    at = dim if dim >= 0 else len(shape) + 1 + dim
    return (*shape[:at], 1, *shape[at:])


def permuted(shape: Shape | None, dims: Shape | None) -> Shape | None:
    """The size of `permute(*dims)`."""
    if shape is None or dims is None or len(dims) != len(shape) or any(d is None for d in dims):
        return None
    return tuple(shape[d] for d in dims if d is not None and d < len(shape))


def transposed(shape: Shape | None, first: Value, second: Value) -> Shape | None:
    """The size of `transpose(first, second)`."""
    if not shape or not isinstance(first, int) or not isinstance(second, int):
        return None
    swapped = list(shape)
    a, b = first % len(shape), second % len(shape)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    return tuple(swapped)


def flattened(shape: Shape | None, start: Value = 0, end: Value = -1) -> Shape | None:
    """The size of `flatten(start, end)`."""
    if shape is None or not isinstance(start, int) or not isinstance(end, int):
        return None
    if not shape:
        return (1,)
    a, b = start % len(shape), end % len(shape)
    total: int | None = 1
    for size in shape[a : b + 1]:
        total = None if total is None or size is None else total * size
    return (*shape[:a], total, *shape[b + 1 :])


def concatenated(parts: Sequence[Shape | None], dim: Value) -> Shape | None:
    """The size of `cat(parts, dim)`."""
    if not parts or any(p is None for p in parts) or not isinstance(dim, int):
        return None
    first = parts[0]
    if not first:
        return None
    at = dim % len(first)
    total: int | None = 0
    for part in parts:
        size = part[at] if part is not None and len(part) > at else None
        total = None if total is None or size is None else total + size
    return (*first[:at], total, *first[at + 1 :])
