"""Finds by which names the graphs of earlier passes are held."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Collection, Iterator
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

import torch

from .books import note_of
from .graph import read
from .memory import live_tensors
from .places import Captured, Places


@lru_cache
def _cached() -> None: ...


LONGEST, DEEPEST, WIDEST = 400_000, 12, 20_000  # objects looked at, steps from a name, items of one container
PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), range, slice, CodeType, BuiltinFunctionType)
LOOKED_INTO = (dict, list, tuple, set, frozenset, deque)


class Holder:
    """A name by which a graph is held.

    Attributes:
        name: the variable or attribute, such as `losses` or `model.hidden`.
        element: where in it, if it is a container: `[…]["q"]`.
        kind: `variable`, `attribute`, `container`, `closure` or `default`.
        owner: for an attribute, the class that it is of; for a variable, the function, or an empty name.
        path: the file that the owner stands in.
        kept: the nodes of earlier passes that it holds.
        made: the stack where one of the tensors was computed.
        defined: for a function that nobody names, such as a hook, where it is defined.
        count: how many tensors.
        in_grad: whether it is the gradient of the tensor that holds it.
    """

    def __init__(self, way: _Way, kept: frozenset[int]) -> None:
        self.name, self.element, self.kind = way.name, way.element, way.kind
        self.root, self.attribute, self.path = way.root, way.attribute, way.path
        self.kept = kept
        self.count = 1
        self.made: Captured = ()
        self.defined: tuple[str, int] | None = None
        self.in_grad = False


class _Way:
    """How an object was come by."""

    __slots__ = ("attribute", "defined", "depth", "element", "kind", "name", "path", "root")

    def __init__(self, name: str, kind: str, root: str, path: str) -> None:
        self.name, self.kind, self.root, self.path = name, kind, root, path
        self.element = ""
        self.attribute = ""
        self.defined: tuple[str, int] | None = None
        self.depth = 0

    def into(self, step: str) -> _Way:
        """One step further: an attribute as `.name`, an item as `[…]`."""
        way = _Way(self.name, self.kind, self.root, self.path)
        way.attribute, way.element, way.depth = self.attribute, self.element, self.depth + 1
        if step.startswith(".") and not way.element:
            way.name += step
            way.kind, way.attribute = "attribute", step[1:]
        else:
            way.element += step
        return way


def find_holders(
    frame: FrameType, places: Places, kept: Collection[int], named: dict[str, Any] | None = None
) -> list[Holder]:
    """The names that hold any of these nodes, nearest to the loop first.

    Args:
        frame: where the loop stands.
        kept: nodes of earlier passes that are still alive.
        named: further variables, besides those of the frames and of the user's modules.
    """
    nodes = frozenset(kept)
    found = _collect(_tensors(frame, places, named or {}), nodes)
    if not found:
        found = _collect(_held_by_functions(places, nodes), nodes)
    return _carriers(list(found.values()))


def _collect(tensors: Iterator[tuple[Any, _Way]], nodes: frozenset[int]) -> dict[tuple[str, str], Holder]:
    """The holders by name and element."""
    found: dict[tuple[str, str], Holder] = {}
    for tensor, way in tensors:
        held = _reach(tensor) & nodes
        if not held:
            continue
        key = (way.name, way.element)
        if key in found:
            found[key].kept |= held
            found[key].count += 1
            continue
        holder = found[key] = Holder(way, held)
        node = tensor.grad_fn
        if node is None and tensor.is_leaf and tensor.grad is not None:
            holder.in_grad, node = True, tensor.grad.grad_fn
            holder.name += ".grad" if not holder.element else ""
        note = note_of(node) if node is not None else None
        holder.made = note.stack if note is not None else ()
        holder.defined = way.defined
    return found


def _held_by_functions(places: Places, nodes: frozenset[int]) -> Iterator[tuple[Any, _Way]]:
    """Tensors that functions hold which have no name themselves: a hook that holds its own tensor, for one."""
    for tensor in live_tensors():
        if not _reach(tensor) & nodes:
            continue
        for holder in gc.get_referrers(tensor):
            if type(holder) not in (tuple, CellType):
                continue
            for function in gc.get_referrers(holder):
                owners = gc.get_referrers(function) if type(function) is tuple else [function]
                for owner in owners:
                    if isinstance(owner, FunctionType) and places.is_user(owner.__code__.co_filename):
                        for item, way in _inside_function(owner):
                            if item is tensor and isinstance(way, _Way):
                                way.defined = (owner.__code__.co_filename, owner.__code__.co_firstlineno)
                                yield tensor, way


def _carriers(holders: list[Holder]) -> list[Holder]:
    """Without those that hold it only through what another one holds, as a loss of a carried state does."""
    least = [
        holder
        for holder in holders
        if not any(other.kept < holder.kept and other.kind != "variable" for other in holders) or holder.count > 1
    ]
    return sorted(least or holders, key=lambda holder: -len(holder.kept))


def _reach(tensor: Any) -> frozenset[int]:
    roots = []
    for item in (tensor, tensor.grad if tensor.is_leaf else None):
        try:
            node = item.grad_fn if item is not None else None
        except RuntimeError:
            continue
        if node is not None:
            roots.append(node)
    return frozenset(read(roots, saved=False).nodes)


def _tensors(frame: FrameType, places: Places, named: dict[str, Any]) -> Iterator[tuple[Any, _Way]]:
    """Every tensor that can be reached by a name of the user's program, with the shortest way to it."""
    seen: set[int] = set()
    todo: deque[tuple[Any, _Way]] = deque()

    def add(value: Any, way: _Way) -> None:
        if id(value) not in seen and not isinstance(value, PLAIN):
            seen.add(id(value))
            todo.append((value, way))

    for scope, root, path in (*_scopes(frame, places), (named, "", frame.f_code.co_filename)):
        seen.add(id(scope))
        for name, value in list(scope.items()):
            if not name.startswith("__"):
                add(value, _Way(name, "variable", root, path))
    while todo and len(seen) < LONGEST:
        value, way = todo.popleft()
        if issubclass(type(value), torch.Tensor):
            yield value, way
        elif way.depth < DEEPEST:
            for item, step in _inside(value, places):
                add(item, step if isinstance(step, _Way) else way.into(step))


def _scopes(frame: FrameType, places: Places) -> Iterator[tuple[dict[str, Any], str, str]]:
    """The variables of the functions that are under way, innermost first, and those of the user's modules."""
    current: FrameType | None = frame
    while current is not None:
        code = current.f_code
        if places.is_user(code.co_filename) and current.f_locals is not current.f_globals:
            yield current.f_locals, code.co_name, code.co_filename
        current = current.f_back
    yield frame.f_globals, "", frame.f_code.co_filename
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and places.is_user(path) and module.__dict__ is not frame.f_globals:
            yield module.__dict__, "", path


def _inside(value: Any, places: Places) -> Iterator[tuple[Any, Any]]:
    """What an object holds, each with the step to it."""
    if isinstance(value, dict):
        for key, item in list(value.items())[:WIDEST]:
            yield item, f"[{key!r}]" if isinstance(key, str) else "[…]"
            yield key, "[key]"
        if type(value) is dict:
            return
    elif isinstance(value, LOOKED_INTO):
        for item in list(value)[:WIDEST]:
            yield item, "[…]"
    elif isinstance(value, FunctionType):
        yield from _inside_function(value)
        return
    elif isinstance(value, MethodType):
        yield value.__self__, ".__self__"
        yield value.__func__, ".__func__"
        return
    elif isinstance(value, partial):
        yield value.func, ".func"
        yield value.args, ".args"
        yield value.keywords, ".keywords"
        return
    elif isinstance(value, type(_cached)):
        yield from ((item, ".cache") for item in gc.get_referents(value) if isinstance(item, dict))
        return
    elif isinstance(value, GeneratorType):
        if value.gi_frame is not None:
            yield from ((item, f".{name}") for name, item in list(value.gi_frame.f_locals.items()))
        return
    elif isinstance(value, (ModuleType, type)):
        if isinstance(value, type) and places.is_user(getattr(sys.modules.get(value.__module__), "__file__", "") or ""):
            yield from ((item, f".{name}") for name, item in list(vars(value).items()) if not name.startswith("__"))
        return
    yield from _attributes(value)


def _inside_function(function: FunctionType) -> Iterator[tuple[Any, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            yield cell.cell_contents, _Way(name, "closure", function.__name__, code.co_filename)
        except ValueError:  # not assigned yet
            continue
    defaults = function.__defaults__ or ()
    named = dict(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults))
    for name, item in {**named, **(function.__kwdefaults__ or {})}.items():
        yield item, _Way(name, "default", function.__name__, code.co_filename)
    for name, item in list(vars(function).items()):
        yield item, f".{name}"


def _attributes(value: Any) -> Iterator[tuple[Any, str]]:
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict):
        for name, item in list(own.items()):
            if name in ("_parameters", "_buffers", "_modules") and isinstance(item, dict):
                yield from ((part, f".{key}") for key, part in list(item.items()))
            else:
                yield item, f".{name}"
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__"):
                item = getattr(value, name, None)
                if item is not None:
                    yield item, f".{name}"
