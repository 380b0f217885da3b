"""Makes an observation from a sample: binds its arguments to public names, then measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from gradsense.machine.ops.rows import Kind, Param
from gradsense.machine.ops.table import bind_params, fit, plain_literal
from opsmeasure.instrument import Call, Measured, Shape, measure, shape_of
from opsmeasure.samples import Sample
from opsmeasure.signing import key_of, table_signatures

_MOST_ELEMENTS = 200_000
_GATES = ("w_ih", "w_hh", "b_ih", "b_hh")
_RUNTIME = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError)


@dataclass
class Observation:
    """One measured call."""

    key: str
    signature: int
    facts: dict[str, Any]
    """Per parameter ``("tensor",)``, ``("none",)`` or ``("value", literal)``."""
    kinds: dict[str, Kind]
    present: set[str]
    """The names of the tensor arguments."""
    shape: Shape | None
    """None for an op that has an in-place form only."""
    measured: list[Measured] = field(default_factory=list)
    inplace: list[Measured] | None = None
    ours: bool = False


def kind_of(value: object) -> Kind:
    """What a real argument is."""
    if isinstance(value, torch.Tensor):
        return Kind.TENSOR
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, torch.Tensor) for item in value):
        return Kind.TENSORS
    if isinstance(value, (bool, int, float, complex)):
        return Kind.NUMBER
    return Kind.OTHER


def observe(sample: Sample) -> Observation | None:
    """Measures a sample; None where it has no public name or only empty tensors.

    Raises:
        Exception: whatever torch raises for a call that is wrong.
    """
    stripped = sample.name[:-1] if sample.name.endswith("_") and not sample.name.endswith("__") else sample.name
    key = key_of(stripped)
    found = table_signatures(key)
    if not found:
        return None
    index = max(range(len(found)), key=lambda place: (fit(found[place], sample.args, sample.kwargs, kind_of), -place))
    params = found[index]
    bound = bind_params(params, sample.args, sample.kwargs)
    options = {name: value for name, value in sample.kwargs.items() if name != "inplace"}
    call = Call(sample.func, sample.args, options, _names(bound))
    if not _usual(call, sample.ours):
        return None
    facts = _facts(params, bound)
    if key in ("getitem", "setitem"):
        facts["index"] = _index_class(bound["index"])
    kinds = {name: kind_of(value) for name, value in bound.items()}
    seen = Observation(key, index, facts, kinds, set(call.slots), None, ours=sample.ours)
    if stripped == sample.name and key != "setitem":
        seen.shape = shape_of(call)
        if seen.shape.result != "value":
            seen.measured = [item for wrt in call.differentiable() if (item := measure(call, wrt)) is not None]
    form = _inplace_form(key, sample.func, params)
    if form is not None and params[0].name in call.slots:
        seen.inplace = _measure_inplace(Call(form, call.args, call.kwargs, call.names), params[0].name)
    return seen


def _inplace_form(key: str, func: Callable[..., Any], params: tuple[Param, ...]) -> Callable[..., Any] | None:
    """The in-place form that takes the same arguments, if there is one."""
    if any(param.name == "inplace" for param in params):

        def with_flag(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **{**kwargs, "inplace": True})

        return with_flag
    if key == "setitem":

        def store(target: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
            target[index] = value
            return target

        return store
    own = getattr(func, "__name__", "")
    if own.endswith("_") and not own.endswith("__"):
        return func
    found: Callable[..., Any] | None = getattr(torch.Tensor, f"{key.rsplit('.', 1)[-1]}_", None)
    return found if params and params[0].kind in (Kind.TENSOR, Kind.EITHER) else None


def _measure_inplace(call: Call, target: str) -> list[Measured] | None:
    try:
        items = [measure(call, wrt, target) for wrt in call.differentiable()]
    except _RUNTIME:
        return None
    return [item for item in items if item is not None]


def _usual(call: Call, ours: bool) -> bool:
    sizes = [call.flat[place].numel() for place in call.slots.values()]
    return bool(ours or sizes) and all(0 < size <= _MOST_ELEMENTS for size in sizes)


def _facts(params: tuple[Param, ...], bound: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for param in params:
        value = bound.get(param.name, param.default)
        if kind_of(value) in (Kind.TENSOR, Kind.TENSORS):
            facts[param.name] = ("tensor",)
        else:
            facts[param.name] = ("none",) if value is None else ("value", plain_literal(value))
    return facts


def _index_class(index: object) -> tuple[Any, ...]:
    """How ``x[index]`` reads: whole, one tensor, a mask, a list, or several with tensors among them; else basic."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in parts):
        return ("value", "whole")
    if any(isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) for part in parts):
        return ("value", "mask")
    if isinstance(index, torch.Tensor):
        return ("tensor",)
    if any(isinstance(part, list) for part in parts):
        return ("value", "list")
    return ("value", "tensors" if any(isinstance(part, torch.Tensor) for part in parts) else "basic")


def _names(bound: dict[str, Any]) -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in bound.items():
        if isinstance(value, torch.Tensor):
            names[id(value)] = name
        elif isinstance(value, (list, tuple)):
            for place, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    names[id(item)] = f"{name}[{_element(name, place, bound)}]"
    return names


def _element(name: str, place: int, bound: dict[str, Any]) -> str:
    """An element's name: its place, but its role in the lists of recurrent ops."""
    if name == "hx":
        return "hc"[place]
    if name == "params" and "has_biases" in bound:
        gates = 4 if bound["has_biases"] else 2
        return f"{_GATES[place % gates]}:{place // gates}"
    return str(place)
