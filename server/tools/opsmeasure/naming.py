"""Canonical names of torch's functions, methods and properties."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.overrides import resolve_name

OPERATORS = {
    "__add__": "add", "__radd__": "add", "__mul__": "mul", "__rmul__": "mul", "__sub__": "sub", "__rsub__": "rsub",
    "__truediv__": "div", "__div__": "div", "__rtruediv__": "rdiv", "__rdiv__": "rdiv", "__pow__": "pow",
    "__rpow__": "rpow", "__matmul__": "matmul", "__rmatmul__": "rmatmul", "__neg__": "neg", "__pos__": "positive",
    "__abs__": "abs", "__invert__": "bitwise_not", "__floordiv__": "floor_divide", "__rfloordiv__": "rfloordiv",
    "__mod__": "remainder", "__rmod__": "rmod", "__and__": "bitwise_and", "__rand__": "bitwise_and",
    "__or__": "bitwise_or", "__ror__": "bitwise_or", "__xor__": "bitwise_xor", "__rxor__": "bitwise_xor",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__getitem__": "getitem", "__setitem__": "setitem", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__itruediv__": "div",
    "__idiv__": "div", "__ipow__": "pow", "__imod__": "remainder", "__ifloordiv__": "floor_divide",
    "__iand__": "bitwise_and", "__ior__": "bitwise_or", "__ixor__": "bitwise_xor",
}  # fmt: skip
"""Python's operators and the op that each one is."""
_OWN_METHODS = ("where", "normal", "size", "stride")
_MODULES = ("nn.functional", "linalg", "fft", "special")


def canonical(func: Callable[..., Any]) -> str | None:
    """The name below ``torch`` of a function, method or property; None where it is none of torch's public ones.

    A method is named as the function of that name, but ``Tensor.where`` where the method's arguments differ; an
    in-place form keeps its ``_``.
    """
    own = getattr(func, "__name__", "")
    name = f"torch.{own}" if own and getattr(torch, own, None) is func else resolve_name(func)
    if name is None:
        module = getattr(func, "__module__", None) or ""
        name = f"{module}.{own}" if module.startswith("torch.nn.") and own.isidentifier() else ""
    name = str(name).removeprefix("torch.").removesuffix(".__get__").removeprefix("functional.")
    if name.startswith("Tensor."):
        bare = name.removeprefix("Tensor.")
        if bare.rstrip("_") in _OWN_METHODS:
            return name
        name = OPERATORS.get(bare, bare)
    if not name or "torch." in name or (name.startswith("_") and not name.startswith("__")) or "._" in name:
        return None
    return name


def public(name: str) -> Any:
    """The object of a canonical name: a function of torch, else a method; None where there is none."""
    for root in (torch, torch.Tensor):
        found: Any = root
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found) or hasattr(found, "__get__"):
            return found
    return None


def public_names() -> dict[str, Any]:
    """Every public callable that a user finds in ``torch``, its functional modules and ``Tensor``, by its name."""
    found: dict[str, Any] = {}
    for prefix in ("", *(f"{module}." for module in _MODULES)):
        owner: Any = torch
        for part in prefix.split(".")[:-1]:
            owner = getattr(owner, part)
        for name in dir(owner):
            value = getattr(owner, name)
            module = getattr(value, "__module__", None) or ""
            if not name.startswith("_") and _is_op(value) and (not prefix or "torch" in module or not module):
                found[prefix + name] = value
    for name in dir(torch.Tensor):
        if not name.startswith("_") and callable(getattr(torch.Tensor, name)):
            found.setdefault(name, getattr(torch.Tensor, name))
    return found


def _is_op(value: Any) -> bool:
    try:
        return callable(value) and not isinstance(value, type) and value in _overridable()
    except TypeError:
        return False


@cache
def _overridable() -> set[Any]:
    functions = torch.overrides.get_overridable_functions()
    return {function for group in functions.values() for function in group}
