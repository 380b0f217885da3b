"""Functions that make tensors: `zeros`, `randn`, `tensor`, `arange`, …"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.machine import shapes
from gradsense.machine.books import merge_cuts
from gradsense.machine.events import GraphLost
from gradsense.machine.graph import Cut, Shape, Tensor
from gradsense.machine.tri import MAYBE, NO, YES
from gradsense.machine.values import External, ListValue, Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

SIZED = frozenset("zeros ones empty rand randn".split())
LIKE = frozenset("zeros_like ones_like empty_like rand_like randn_like full_like randint_like".split())
INTEGER = frozenset("randint arange randperm tril_indices triu_indices LongTensor IntTensor".split())
LEGACY = frozenset("Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor BoolTensor ByteTensor".split())
FROM_DATA = LEGACY | frozenset("tensor as_tensor from_numpy scalar_tensor asarray".split())
NAMES = (
    SIZED
    | LIKE
    | INTEGER
    | FROM_DATA
    | frozenset(
        "full linspace logspace eye normal empty_strided hann_window hamming_window frombuffer blackman_window".split()
    )
)
DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "byte": "uint8",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


def dtype_name(value: Value) -> str | None:
    """torch's name of a dtype, None if the value is none."""
    if isinstance(value, External):
        if value.name.startswith("builtins."):
            return {"int": "int64", "float": "float32", "bool": "bool"}.get(value.last)
        if value.name.startswith("torch."):
            name = value.last
            return DTYPES.get(name, name)
    return None


def make(machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`torch.<name>(…)`."""
    first = arguments[0] if arguments else keywords.get("data", keywords.get("size", keywords.get("input")))
    if name in FROM_DATA:
        return _from_data(machine, name, first, arguments, keywords)
    requires = keywords.get("requires_grad", False)
    dtype = "int64" if name in INTEGER else "float32"
    shape: Shape | None = None
    if name in SIZED:
        given = keywords.get("size")
        shape = shapes.size_arguments([given] if given is not None else arguments)
    elif name in LIKE and isinstance(first, Tensor):
        shape, dtype = first.shape, first.dtype or "float32"
    elif name == "full":
        shape = shapes.size_arguments([first])
    elif name == "randint":
        sized = next((a for a in arguments if isinstance(a, (tuple, ListValue))), keywords.get("size"))
        shape = shapes.size_arguments([sized]) if sized is not None else None
    elif name in ("linspace", "logspace"):
        steps = arguments[2] if len(arguments) > 2 else keywords.get("steps")
        shape = (steps if isinstance(steps, int) else None,)
    elif name in ("arange", "randperm"):
        ends = [a for a in arguments if not isinstance(a, External)]
        whole = [e for e in ends if isinstance(e, int)]
        shape = (whole[0],) if len(ends) == len(whole) == 1 else (None,)
        if len(ends) == len(whole) == 2:
            shape = (max(0, whole[1] - whole[0]),)
        if any(isinstance(e, float) for e in ends):
            dtype = "float32"
    elif name == "eye":
        shape = (first if isinstance(first, int) else None,) * 2
    elif name == "normal":
        shape = (
            first.shape
            if isinstance(first, Tensor)
            else shapes.size_arguments([arguments[2]])
            if len(arguments) > 2
            else None
        )
        given = [t for t in (*arguments, *keywords.values()) if isinstance(t, Tensor)]
        if given:
            return machine.record("normal", given, shape=shape or given[0].shape)[0]
    given_dtype = dtype_name(keywords.get("dtype"))
    if "dtype" in keywords:
        dtype = given_dtype or ("float32" if dtype == "float32" else dtype)
    made = machine.tensor(shape, dtype)
    made.needs = YES if requires is True else MAYBE if isinstance(requires, Unknown) else NO
    made.device = device_name(keywords.get("device"))
    return made


def device_name(value: Value) -> str | None:
    """`cuda` where the value surely says so, `cpu` where it says that, None if unknown."""
    if isinstance(value, str):
        return value.partition(":")[0]
    return None


def _from_data(machine: Machine, name: str, first: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if name in ("as_tensor", "asarray") and isinstance(first, Tensor):
        return first
    parts = flatten(first)
    whole = parts and all(isinstance(p, (bool, int)) for p in parts)
    dtype: str | None = (
        "int64" if whole and name not in ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor") else "float32"
    )
    if whole and all(isinstance(p, bool) for p in parts):
        dtype = "bool"
    if name in ("LongTensor", "IntTensor", "ByteTensor"):
        dtype = "int64"
    if name == "BoolTensor":
        dtype = "bool"
    if isinstance(first, Unknown) or any(isinstance(p, Unknown) for p in parts):
        dtype = None if dtype == "float32" else dtype
        if name in ("Tensor", "FloatTensor"):
            dtype = "float32"
    if isinstance(first, Tensor):
        dtype = first.dtype
    if "dtype" in keywords:
        dtype = dtype_name(keywords["dtype"])
    made = machine.tensor(_legacy_shape(arguments) if name in LEGACY else _data_shape(first), dtype)
    if name in ("from_numpy", "as_tensor", "asarray") and isinstance(first, Unknown):
        if first.alias is not None:
            made.storage = first.alias.storage
        else:
            first.alias = made
    requires = keywords.get("requires_grad", False)
    made.needs = YES if requires is True else MAYBE if isinstance(requires, Unknown) else NO
    tensors = [p for p in parts if isinstance(p, Tensor)]
    cuts = merge_cuts(t.cuts for t in tensors)
    lost = [t for t in tensors if machine.needs_grad(t) is not NO]
    if lost:
        cuts = (*cuts, Cut("torch.tensor", machine.here(), tuple(lost)))
        if requires is True and any(machine.needs_grad(t) is YES for t in lost):
            machine.report(GraphLost(place=machine.here(), how="tensor", cuts=cuts, tensor=made))
    unknowns = [p for p in parts if isinstance(p, Unknown)]
    numbers = {id(p.cut): p.cut for p in unknowns if p.cut is not None and (p.number or not p.sources)}
    arrays = merge_cuts(t.cuts for p in unknowns if p.data and not p.number for t in p.sources)
    made.cuts = (*cuts, *arrays, *numbers.values())[-6:]
    if any(t.origin == "unknown" for t in tensors):
        made.origin = "unknown"
    return made


def flatten(value: Value, depth: int = 0) -> list[Value]:
    """The leaves of nested lists."""
    if isinstance(value, (ListValue, tuple)) and depth < 6:
        parts = value.items if isinstance(value, ListValue) else value
        return [leaf for part in parts for leaf in flatten(part, depth + 1)]
    return [value]


def _legacy_shape(arguments: list[Value]) -> Shape | None:
    """`torch.FloatTensor(2, 3)` takes sizes, `torch.FloatTensor([2, 3])` data."""
    if any(isinstance(a, Unknown) and not a.number for a in arguments):
        return None if len(arguments) < 2 else (None,) * len(arguments)
    if all(isinstance(a, (int, Unknown)) for a in arguments):
        return tuple(a if isinstance(a, int) and a >= 0 else None for a in arguments) if arguments else (0,)
    return _data_shape(arguments[0])


def _data_shape(value: Value) -> Shape | None:
    if isinstance(value, (ListValue, tuple)):
        parts = value.items if isinstance(value, ListValue) else value
        if isinstance(value, ListValue) and (value.open or value.homogeneous):
            return None
        if not parts:
            return (0,)
        inner = _data_shape(parts[0])
        return None if inner is None else (len(parts), *inner)
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, (int, float)) or (isinstance(value, Unknown) and value.number and value.name is None):
        return ()
    return None
