"""Measures one call of one op with two instruments that must agree.

The first is a pack hook (``saved_tensors_hooks``): every packed tensor is matched, by storage, with the call's
arguments and results; what matches nothing is private. The second is the version counter: bump the version of one
tensor after the forward, and the backward raises if and only if a node had saved it. Where they differ, a node saved
memory of an argument without its version counter (``kron`` does): that counts as private, for no write is noticed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch.autograd.graph import increment_version, saved_tensors_hooks
from torch.utils._pytree import tree_flatten, tree_unflatten

_WRITTEN = "modified by an inplace operation"
_TWICE = "backward through the graph a second time"
_MULTI = "multiple views"
_REFUSED = "cannot have requires_grad"
_UNSUPPORTED = "not implemented"
_MOST_OUTPUTS = 8


def is_dense(value: object) -> bool:
    """Whether a value is a plain strided tensor."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_nested


def storage(tensor: torch.Tensor) -> int:
    """The identity of a tensor's storage; it is right for empty tensors too, unlike ``data_ptr``."""
    return int(tensor.untyped_storage()._cdata)


@dataclass
class Call:
    """A call of ``func``, its tensor arguments named; every measurement rebuilds them from scratch."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: dict[int, str]
    """Names of the tensor arguments by ``id``; elements of a list are ``name[0]``, ``name[1]`` …"""
    flat: list[Any] = field(init=False)
    slots: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.flat, self._spec = tree_flatten((self.args, self.kwargs))
        self.slots = {}
        for place, value in enumerate(self.flat):
            if is_dense(value) and id(value) in self.names:
                self.slots[self.names[id(value)]] = place

    def differentiable(self) -> list[str]:
        """The arguments that could need grad."""
        return [
            name
            for name, place in self.slots.items()
            if self.flat[place].is_floating_point() or self.flat[place].is_complex()
        ]

    def build(self, needs_grad: str | None) -> tuple[dict[str, torch.Tensor], list[Any]]:
        """Fresh leaves, and the flat arguments made from them; only one needs grad, and that one is no leaf."""
        leaves, flat = {}, list(self.flat)
        for name, place in self.slots.items():
            source = self.flat[place].detach()
            leaf = source.clone(memory_format=torch.preserve_format)
            if not source.is_contiguous() and leaf.is_contiguous():
                leaf = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype).copy_(source)
            if name == needs_grad:
                leaf.requires_grad_(True)
            leaves[name] = leaf
            flat[place] = leaf.clone() if name == needs_grad else leaf
        return leaves, flat

    def run(self, flat: list[Any]) -> Any:
        """Calls the op with a fixed seed."""
        args, kwargs = tree_unflatten(flat, self._spec)
        torch.manual_seed(0)
        return self.func(*args, **kwargs)


@dataclass
class Measured:
    """What one call saved when one argument needed grad."""

    wrt: str
    saved: set[str]
    private: bool
    raises: bool | None
    differentiable: tuple[bool, ...]
    agree: bool
    broken: bool = False
    """Whether even the first backward raises (an in-place form that saved what it then wrote)."""
    unsupported: bool = False
    """Whether torch has no derivative for it."""
    refused: bool = False
    """Whether torch refuses the call when this argument needs grad."""


@dataclass
class Shape:
    """What a call does whatever needs grad: results, views, writes."""

    outputs: int
    is_tuple: bool
    view: str
    view_of: str
    result: str
    writes: tuple[str, ...]


def outputs(value: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def _real_or_complex(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _differentiable(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and _real_or_complex(tensor)


def _backward(results: list[torch.Tensor], leaf: torch.Tensor) -> None:
    walked = [result for result in results if _differentiable(result)]
    torch.autograd.grad(walked, [leaf], [torch.ones_like(result) for result in walked], allow_unused=True)


def _raises(action: Callable[[], object], wording: str) -> bool | None:
    """Whether an action raises with that wording; None where it raises otherwise."""
    try:
        action()
    except RuntimeError as error:
        return True if wording in str(error) else None
    return False


def measure(call: Call, wrt: str, written: str | None = None) -> Measured | None:
    """What is saved when only ``wrt`` needs grad; None where no result then needs grad.

    ``written`` names the argument that an in-place form writes; it is then known as ``out0``.
    """
    try:
        hooked, private, differentiable = _hooked(call, wrt, written)
    except RuntimeError as error:
        if _REFUSED not in str(error):
            raise
        return Measured(wrt, set(), False, None, (), True, refused=True)
    if not any(differentiable):
        return None
    noticed = _noticed(call, wrt, written, len(differentiable))
    leaves, flat = call.build(wrt)
    results = outputs(call.run(flat))
    first = _raises(lambda: _backward(results, leaves[wrt]), _WRITTEN)
    if first is not False:
        unsupported = _raises(lambda: _backward(results, leaves[wrt]), _UNSUPPORTED) is True
        return Measured(wrt, hooked, private, None, differentiable, True, bool(first), unsupported)
    raises = _raises(lambda: _backward(results, leaves[wrt]), _TWICE)
    return Measured(wrt, noticed, private or bool(hooked - noticed), raises, differentiable, noticed == hooked)


def _hooked(call: Call, wrt: str, written: str | None) -> tuple[set[str], bool, tuple[bool, ...]]:
    """The tensors that a pack hook saw, whether it saw others, and which results are differentiable."""
    _, flat = call.build(wrt)
    names: dict[int, set[str]] = {}
    for name, place in call.slots.items():
        names.setdefault(storage(flat[place]), set()).add("out0" if name == written else name)
    packed: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        results = outputs(call.run(flat))
    for place, result in enumerate(results):
        if is_dense(result):
            names.setdefault(storage(result), {f"out{place}"})
    found = [names.get(storage(tensor), set()) if is_dense(tensor) else set() for tensor in packed]
    return set().union(*found), not all(found), tuple(_differentiable(result) for result in results)


def _noticed(call: Call, wrt: str, written: str | None, count: int) -> set[str]:
    """The tensors whose bumped version makes the backward raise."""
    noticed: set[str] = set()
    targets: list[tuple[str, int | None]] = [(name, None) for name in call.slots if name != written]
    targets += [(f"out{place}", place) for place in range(min(count, _MOST_OUTPUTS))]
    for name, place in targets:
        leaves, flat = call.build(wrt)
        results = outputs(call.run(flat))
        target = flat[call.slots[name]] if place is None else results[place]
        if is_dense(target):
            increment_version(target)
            if _raises(partial(_backward, results, leaves[wrt]), _WRITTEN):
                noticed.add(name)
    shared = {storage(value) for value in flat if is_dense(value)}
    return noticed - {
        f"out{place}"
        for place, result in enumerate(results)
        if is_dense(result) and storage(result) in shared and written is None
    }


def shape_of(call: Call) -> Shape:
    """Measures results, views and writes."""
    for wrt in [*call.differentiable(), None]:
        _, flat = call.build(wrt)
        versions = {name: flat[place]._version for name, place in call.slots.items()}
        try:
            value = call.run(flat)
        except RuntimeError:
            if wrt is None:
                raise
            continue
        break
    results = outputs(value)
    writes = tuple(name for name, place in call.slots.items() if flat[place]._version != versions[name])
    view, view_of = "none", ""
    for name, place in call.slots.items():
        for result in results:
            if not view_of and is_dense(result) and storage(result) == storage(flat[place]):
                view, view_of = _relation(result, flat[place]), name
    is_tuple = isinstance(value, (tuple, list))
    if view == "view" and is_tuple and len(results) > 1 and _refuses_writes(results[0]):
        view = "multi"
    return Shape(len(results), is_tuple, view, view_of if view != "none" else "", _class_of(value, results), writes)


def _relation(result: torch.Tensor, argument: torch.Tensor) -> str:
    if result is argument:
        return "same"
    before = argument._version
    with torch.no_grad():
        increment_version(result)
    if argument._version != before:
        return "view"
    return "none" if result.grad_fn is not None else "data"


def _refuses_writes(result: torch.Tensor) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return result.requires_grad and _raises(partial(result.add_, 0), _MULTI) is True


def _class_of(value: Any, results: list[torch.Tensor]) -> str:
    if not results:
        return "value"
    first = results[0]
    if _real_or_complex(first):
        return "float"
    return "bool" if first.dtype == torch.bool else "int"
