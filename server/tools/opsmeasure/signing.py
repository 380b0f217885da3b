"""Public signatures: from torch's schemas for built-ins, by inspection for Python functions, by hand for the rest."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from gradsense.machine.ops.decode import decode_signature
from gradsense.machine.ops.rows import Kind, Param
from gradsense.machine.ops.schemas import Schema, read_schemas, signatures
from opsmeasure.naming import public

SITE_PACKAGES = Path(torch.__file__).parent.parent
_CASTS = "float double half bfloat16 int long bool short byte char cfloat cdouble chalf"
_READERS = "numpy tolist data_ptr element_size get_device nelement ndimension"
_BY_HAND = {
    "getitem": "input:t index:o",
    "setitem": "input:t index:o value:e",
    "rdiv": "input:t other:e",
    "rpow": "input:t other:e",
    "rmod": "input:t other:e",
    "rmatmul": "input:t other:t",
    "rfloordiv": "input:t other:e",
    "einsum": "equation:o operands:l...",
    "block_diag": "tensors:l...",
    "broadcast_tensors": "tensors:l...",
    "cartesian_prod": "tensors:l...",
    "meshgrid": 'tensors:l... * indexing:o="ij"',
    "chain_matmul": "matrices:l...",
    "Tensor.where": "input:t condition:t other:e",
    "Tensor.normal": "input:t mean:n=0 std:n=1 * generator:o=null",
    "Tensor.size": "input:t dim:n=null",
    "Tensor.stride": "input:t dim:n=null",
    "unique": "input:t sorted:n=true return_inverse:n=false return_counts:n=false dim:n=null",
    "nonzero": "input:t * as_tuple:n=false",
    "to": "input:t target:o dtype:o=null non_blocking:n=false copy:n=false * device:o=null memory_format:o=null",
    "type": "input:t dtype:o=null non_blocking:n=false",
    "tensor": "data:o * dtype:o=null device:o=null requires_grad:n=false pin_memory:n=false",
    "as_tensor": "data:e dtype:o=null device:o=null",
    "asarray": "obj:e * dtype:o=null device:o=null copy:n=null requires_grad:n=false",
    "from_numpy": "ndarray:o",
    "range": "start:n end:n step:n=1",
    **dict.fromkeys(_CASTS.split(), "input:t * memory_format:o=null"),
    **dict.fromkeys(("cpu", "cuda"), "input:t device:o=null non_blocking:n=false * memory_format:o=null"),
    **dict.fromkeys(_READERS.split(), "input:t"),
    "new_tensor": "input:t data:o * dtype:o=null device:o=null requires_grad:n=false",
}


@cache
def _schemas() -> Mapping[str, list[Schema]]:
    return read_schemas(SITE_PACKAGES)


def _native(func: Callable[..., Any]) -> tuple[tuple[Param, ...], ...]:
    name = getattr(func, "__name__", "")
    return tuple(signatures(_schemas().get(name) or _schemas().get(name.rstrip("_")) or []))


def _unwrap(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind torch's ``boolean_dispatch``, whose own signature is ``(*args, **kwargs)``."""
    code = getattr(func, "__code__", None)
    if code is not None and func.__closure__ and "if_true" in code.co_freevars:
        found: Callable[..., Any] = func.__closure__[code.co_freevars.index("if_true")].cell_contents
        return found
    return func


def _kind(name: str, annotation: Any, default: Any) -> Kind:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "") + str(annotation)
    if "Tensor" in text:
        return Kind.TENSORS if any(word in text.lower() for word in ("list[", "tuple[", "sequence[")) else Kind.TENSOR
    if any(word in text for word in ("int", "float", "bool", "BroadcastingList", "number")):
        return Kind.NUMBER
    if isinstance(default, (bool, int, float)):
        return Kind.NUMBER
    return Kind.TENSOR if name in ("input", "self") else Kind.OTHER


def _inspected(func: Callable[..., Any]) -> tuple[Param, ...] | None:
    try:
        found = inspect.signature(_unwrap(func))
    except (TypeError, ValueError):
        return None
    params = []
    for param in found.parameters.values():
        if param.kind is param.VAR_KEYWORD or param.name == "out" or param.name.startswith("_"):
            continue
        missing = param.default is param.empty
        default = param.default if isinstance(param.default, (bool, int, float, str)) else None
        name = "input" if param.name == "self" else param.name
        keyword = param.kind is param.KEYWORD_ONLY
        variadic = param.kind is param.VAR_POSITIONAL
        kind = _kind(param.name, param.annotation, default)
        params.append(Param(name, kind, missing, default, keyword, variadic))
    return tuple(params)


@cache
def signatures_of(name: str) -> tuple[tuple[Param, ...], ...]:
    """The public signatures of a canonical name, as few as its overloads allow; none for an unknown name."""
    if name in _BY_HAND:
        return (decode_signature(_BY_HAND[name]),)
    func = public(name) or public(f"{name}_")
    if func is None:
        return ()
    if not hasattr(func, "__code__"):
        return _native(func)
    params = _inspected(func)
    if params is None or all(param.variadic for param in params):
        return _native(func)
    if params[0].name == "tensor" and hasattr(torch.Tensor, name):
        params = (replace(params[0], name="input"), *params[1:])
    return (params,)


def _positions(params: Iterable[Param]) -> list[str]:
    return [param.name for param in params if not param.keyword_only and param.name != "generator"]


@cache
def key_of(name: str) -> str:
    """The key of an op's row: ``relu`` for ``nn.functional.relu`` too, for both take the same arguments."""
    base = name.removeprefix("nn.functional.")
    if base == name:
        return name
    long, short = signatures_of(name), signatures_of(base)
    if len(long) != 1 or len(short) != 1:
        return name
    alike = all(a == b for a, b in zip(_positions(long[0]), _positions(short[0]), strict=False))
    return base if alike else name


@cache
def table_signatures(key: str) -> tuple[tuple[Param, ...], ...]:
    """The signatures of a row's key: the longer one where ``torch`` and ``nn.functional`` both have the function."""
    short, long = signatures_of(key), signatures_of(f"nn.functional.{key}")
    if len(long) == 1 and len(short) == 1 and key_of(f"nn.functional.{key}") == key and len(long[0]) >= len(short[0]):
        return long
    return short


def refine(params: tuple[Param, ...], seen: Mapping[str, set[Kind]]) -> tuple[Param, ...]:
    """A signature whose kinds agree with the arguments that it was seen to take."""
    refined = []
    for param in params:
        kinds = seen.get(param.name, set()) - {Kind.OTHER}
        kind = param.kind
        if param.name == "index" and kind is Kind.OTHER:
            kinds = set()
        if Kind.TENSORS in kinds and kind is not Kind.TENSOR:
            kind = Kind.TENSORS
        elif Kind.TENSOR in kinds and kind in (Kind.OTHER, Kind.NUMBER):
            kind = Kind.EITHER if Kind.NUMBER in kinds or kind is Kind.NUMBER else Kind.TENSOR
        elif kinds == {Kind.NUMBER} and kind is Kind.OTHER:
            kind = Kind.NUMBER
        refined.append(replace(param, kind=kind))
    return tuple(refined)


def encode_signature(params: Iterable[Param]) -> str:
    """The opposite of ``decode_signature``."""
    tokens = []
    star = False
    for param in params:
        if param.keyword_only and not star:
            tokens.append("*")
            star = True
        default = "" if param.required else "=" + json.dumps(param.default, separators=(",", ":"))
        tokens.append(f"{param.name}:{param.kind.value}{'...' if param.variadic else ''}{default}")
    return " ".join(tokens)
