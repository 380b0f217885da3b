"""Sizes that convolutions, pooling and recurrent layers make."""

from __future__ import annotations

from collections.abc import Mapping

from gradsense.machine.graph import Shape
from gradsense.machine.values import ListValue, Value

Options = Mapping[str, Value]


def _each(value: Value, dims: int, default: int) -> list[int | None]:
    """An option given as one number or one for each dimension."""
    if value is None:
        return [default] * dims
    if isinstance(value, bool):
        return [default] * dims
    if isinstance(value, int):
        return [value] * dims
    parts = value.items if isinstance(value, ListValue) else list(value) if isinstance(value, tuple) else []
    if len(parts) == dims:
        return [p if isinstance(p, int) else None for p in parts]
    return [None] * dims


def _window(
    size: int | None, kernel: int | None, stride: int | None, padding: int | None, dilation: int | None
) -> int | None:
    if size is None or kernel is None or not stride or padding is None or dilation is None:
        return None
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _transposed(
    size: int | None,
    stride: int | None,
    padding: int | None,
    kernel: int | None,
    dilation: int | None,
    extra: int | None,
) -> int | None:
    if size is None or stride is None or padding is None or kernel is None or dilation is None or extra is None:
        return None
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1


def convolution(shape: Shape | None, options: Options, dims: int, *, transpose: bool) -> Shape | None:
    """The size of a convolution's result."""
    if shape is None or len(shape) not in (dims + 1, dims + 2):
        return None
    channels = options.get("out_channels")
    kernel = _each(options.get("kernel_size"), dims, 1)
    stride = _each(options.get("stride"), dims, 1)
    dilation = _each(options.get("dilation"), dims, 1)
    padding_option = options.get("padding")
    sizes = shape[-dims:]
    if padding_option == "same":
        spatial: list[int | None] = list(sizes)
    else:
        padding = _each(0 if padding_option == "valid" else padding_option, dims, 0)
        if transpose:
            extra = _each(options.get("output_padding"), dims, 0)
            spatial = [_transposed(*each) for each in zip(sizes, stride, padding, kernel, dilation, extra, strict=True)]
        else:
            spatial = [_window(*each) for each in zip(sizes, kernel, stride, padding, dilation, strict=True)]
    return (*shape[: len(shape) - dims - 1], channels if isinstance(channels, int) else None, *spatial)


def pooling(shape: Shape | None, options: Options, dims: int) -> Shape | None:
    """The size of a max or average pooling's result."""
    if shape is None or len(shape) < dims:
        return None
    kernel = _each(options.get("kernel_size"), dims, 1)
    stride_option = options.get("stride")
    stride = kernel if stride_option is None else _each(stride_option, dims, 1)
    padding = _each(options.get("padding"), dims, 0)
    dilation = _each(options.get("dilation"), dims, 1)
    if options.get("ceil_mode") is True:
        return (*shape[:-dims], *([None] * dims))
    return (
        *shape[:-dims],
        *(_window(*each) for each in zip(shape[-dims:], kernel, stride, padding, dilation, strict=True)),
    )


def adaptive(shape: Shape | None, options: Options, dims: int) -> Shape | None:
    """The size of an adaptive pooling's result."""
    if shape is None or len(shape) < dims:
        return None
    return (*shape[:-dims], *_each(options.get("output_size"), dims, 1))


def recurrent(shape: Shape | None, options: Options) -> tuple[Shape | None, Shape | None]:
    """The sizes of a recurrent layer's output and of its state."""
    hidden, layers = options.get("hidden_size"), options.get("num_layers", 1)
    directions = 2 if options.get("bidirectional") is True else 1
    if shape is None or not isinstance(hidden, int) or len(shape) not in (2, 3):
        return None, None
    out: Shape = (*shape[:-1], hidden * directions)
    count = layers * directions if isinstance(layers, int) else None
    if len(shape) == 2:
        return out, (count, hidden)
    batch = shape[0] if options.get("batch_first") is True else shape[1]
    return out, (count, batch, hidden)


def pixel_shuffle(shape: Shape | None, factor: Value) -> Shape | None:
    """The size of `pixel_shuffle`."""
    if shape is None or not isinstance(factor, int) or len(shape) < 3:
        return None
    channels, high, wide = shape[-3:]
    return (
        *shape[:-3],
        channels // factor**2 if channels is not None else None,
        high * factor if high is not None else None,
        wide * factor if wide is not None else None,
    )
