"""What CUDA kernels save that take another way than the CPU's, read from their derivative formulas.

Batch norm, convolution, layer norm and dropout have CUDA kernels of their own too, but save the same of what a program
sees; recurrent layers and attention do not.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.ops.derivatives import Derivatives
from opsmeasure.signing import SITE_PACKAGES

_WEIGHTS = ("params[w_ih]", "params[w_hh]", "params[b_ih]", "params[b_hh]")
_ROLES = {"input": ("input", "data"), "weight": _WEIGHTS}
_LSTM: dict[str, tuple[str, ...]] = {"hx": ("hx[h]",), "cx": ("hx[c]",), **_ROLES}
_RNN: dict[str, tuple[str, ...]] = {"hx": ("hx",), **_ROLES}
_ATTENTION: dict[str, tuple[str, ...]] = {
    "query": ("query",),
    "key": ("key",),
    "value": ("value",),
    "attn_bias": ("attn_mask",),
}
_KERNELS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "lstm": (("_cudnn_rnn",), _LSTM),
    "gru": (("_cudnn_rnn",), _RNN),
    "rnn_tanh": (("_cudnn_rnn",), _RNN),
    "rnn_relu": (("_cudnn_rnn",), _RNN),
    "nn.functional.scaled_dot_product_attention": (
        ("_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention"),
        _ATTENTION,
    ),
}
"""Per op its kernels, and what the kernel's arguments are called in public (``data`` in a packed sequence)."""


def cuda_books(key: str, signature: str) -> dict[str, str] | None:
    """The encoded books of an op's CUDA kernels under one signature, None where they are the measured ones.

    What one kernel saves and another does not is marked as saved in some calls. The kernels keep tensors of their own
    besides (a reserve, the log-sum-exp), so that they always save something private.
    """
    if key not in _KERNELS:
        return None
    kernels, roles = _KERNELS[key]
    public = {token.partition(":")[0] for token in signature.split()}
    roles = {role: tuple(name for name in names if name.partition("[")[0] in public) for role, names in roles.items()}
    books = [_books_of(kernel, roles) for kernel in kernels]
    names = {name for book in books for name in book}
    return {name: _encode([book[name] for book in books if name in book]) for name in sorted(names)}


def _books_of(kernel: str, roles: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
    formulas = Derivatives(SITE_PACKAGES).formulas(kernel)
    if formulas is None:
        return {}
    books: dict[str, set[str]] = {}
    for argument in formulas.arguments():
        saved = {name for item in formulas.saved_arguments(argument) for name in roles.get(item, ())}
        saved |= formulas.saved_results() & {"out0"}
        books.update(dict.fromkeys(roles.get(argument, ()), saved))
    return books


def _encode(saved: Iterable[set[str]]) -> str:
    sets = list(saved)
    sure = set.intersection(*sets)
    maybe = set.union(*sets) - sure
    return " ".join([*sorted(sure), *(f"?{name}" for name in sorted(maybe)), "$", "!"])
