"""The ops table: finds the row of a torch op, and gives a call's arguments their public names.

The data is ``ops.json``, measured from an installed torch by ``server/tools/measure_ops.py``. It is read once, when
first asked for, and a row is decoded when first looked up. No torch is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from gradsense.machine.ops.decode import decode_row, decode_signature
from gradsense.machine.ops.rows import UNKNOWN, Kind, OpRow, Param, merge_rows

_DATA = os.path.join(os.path.dirname(__file__), "ops.json")
# As many calls that look different are remembered.
MOST_RESOLVED = 5_000
# A list as an argument is told part by part up to so many.
MOST_PARTS_TOLD = 8
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "self": "input"}


Looks: TypeAlias = tuple[object, ...]


class OpsTable:
    """Rows by canonical name: ``mul``, ``nn.functional.linear``, ``linalg.svd``; a method by its bare name."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._ops: Mapping[str, Any] = data["ops"]
        self._aliases: Mapping[str, str] = data["aliases"]
        self._torch: str = data["about"]["torch"]
        self._signatures: dict[tuple[str, int], tuple[Param, ...]] = {}
        self._rows: dict[tuple[str, int], OpRow] = {}
        # What calls that look alike were resolved to.
        self._resolved: dict[tuple[str, Looks], tuple[OpRow, tuple[Param, ...]]] = {}

    @property
    def torch_version(self) -> str:
        """The torch that was measured."""
        return self._torch

    def names(self) -> list[str]:
        """The canonical names, sorted."""
        return sorted(self._ops)

    def canonical(self, name: str) -> str | None:
        """The canonical name of an op, or None where the table has no such op.

        ``name`` may begin with ``torch.``, and with ``Tensor.`` for a method (needed only where a method takes its
        arguments in another order than the function, as ``where`` does); it may end in the ``_`` of an in-place form.
        Aliases (``multiply``, ``clip``, ``special.expit``, ``__radd__``) are followed.
        """
        name = name.removeprefix("torch.")
        bare = name.removeprefix("Tensor.")
        candidates = [name, bare]
        if bare.endswith("_") and not bare.endswith("__"):
            candidates += [f"Tensor.{bare[:-1]}", bare[:-1]]
        for candidate in candidates:
            if candidate in self._ops:
                return candidate
            if candidate in self._aliases:
                return self._aliases[candidate]
        return None

    def lookup(
        self, name: str, tensors: Collection[str] = (), options: Mapping[str, object] | None = None
    ) -> OpRow | None:
        """The row of an op.

        ``tensors`` names the arguments that are tensors; where it is empty, every parameter that can be a tensor and
        has no default counts as one. ``options`` holds the other arguments' values (:data:`UNKNOWN` for one that the
        program does not tell: the rows that remain possible are merged). What is in neither has its default.
        """
        found = self.canonical(name)
        if found is None:
            return None
        values = options or {}
        return self._select(found, self._pick_signature(found, {*tensors, *values}), tensors, values)

    def resolve(
        self,
        name: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        kind_of: Callable[[object], Kind],
    ) -> tuple[OpRow, dict[str, object]] | None:
        """The row of a call and its arguments by name; the kinds of the arguments choose among overloads.

        For a method, ``args`` begins with the receiver. Arguments that ``kind_of`` says are OTHER stand as options by
        their own value, so pass plain Python values (or UNKNOWN) where they are known.
        """
        looks = _looks(args, kwargs, kind_of)
        if looks is not None:
            known = self._resolved.get((name, looks))
            if known is not None:
                return known[0], bind_params(known[1], args, kwargs)
        found = self.canonical(name)
        if found is None:
            return None
        best = max(
            range(len(self._ops[found]["sig"])),
            key=lambda index: (fit(self._signature(found, index), args, kwargs, kind_of), -index),
        )
        bound = bind_params(self._signature(found, best), args, kwargs)
        tensors: list[str] = []
        options: dict[str, object] = {}
        for key, value in bound.items():
            kind = kind_of(value)
            if kind in (Kind.TENSOR, Kind.TENSORS):
                tensors.append(key)
            elif kind is Kind.EITHER:
                options[key] = UNKNOWN
            else:
                options[key] = value
        row = self._select(found, best, tensors, options)
        if row is None:
            return None
        if looks is not None and len(self._resolved) < MOST_RESOLVED:
            self._resolved[name, looks] = (row, self._signature(found, best))
        return row, bound

    def _signature(self, name: str, index: int) -> tuple[Param, ...]:
        key = (name, index)
        if key not in self._signatures:
            self._signatures[key] = decode_signature(self._ops[name]["sig"][index])
        return self._signatures[key]

    def _pick_signature(self, name: str, used: set[str]) -> int:
        count = len(self._ops[name]["sig"])
        if count == 1:
            return 0
        return max(
            range(count), key=lambda index: (len(used & {param.name for param in self._signature(name, index)}), -index)
        )

    def _row(self, name: str, index: int) -> OpRow:
        key = (name, index)
        if key not in self._rows:
            data = self._ops[name]["rows"][index]
            self._rows[key] = decode_row(name, self._signature(name, data.get("s", 0)), data)
        return self._rows[key]

    def _select(
        self, name: str, signature: int, tensors: Collection[str], options: Mapping[str, object]
    ) -> OpRow | None:
        params = {param.name: param for param in self._signature(name, signature)}
        merged: OpRow | None = None
        for index, data in enumerate(self._ops[name]["rows"]):
            if data.get("s", 0) != signature:
                continue
            holds: bool | None = True
            for argument, test in data.get("when", {}).items():
                answer = _holds(test, params.get(argument), argument, tensors, options)
                if answer is False:
                    holds = False
                    break
                if answer is None:
                    holds = None
            if holds is False:
                continue
            row = self._row(name, index)
            merged = row if merged is None else merge_rows(merged, row)
            if holds:
                break
        return merged


def _holds(
    test: Any, param: Param | None, argument: str, tensors: Collection[str], options: Mapping[str, object]
) -> bool | None:
    """Whether a row's condition on one argument holds; None where that is not known."""
    if argument in tensors:
        kind, value = "tensor", None
    elif argument in options:
        value = options[argument]
        if value is UNKNOWN:
            return None
        kind = "none" if value is None else "value"
    elif param is not None and param.required and (not tensors or param.kind in (Kind.TENSOR, Kind.TENSORS)):
        kind, value = ("value" if param.kind in (Kind.NUMBER, Kind.OTHER) else "tensor"), UNKNOWN
    elif param is not None and param.required:
        kind, value = "value", UNKNOWN
    else:
        value = None if param is None else param.default
        kind = "none" if value is None else "value"
    if isinstance(test, str):
        if value is UNKNOWN and param is not None and param.kind in (Kind.OTHER, Kind.EITHER) and test != "none":
            return None
        return kind == test
    if kind != "value":
        return False
    if value is UNKNOWN:
        return None
    value = plain_literal(value)
    try:
        return any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in test)
    except (TypeError, ValueError):
        return None


def _looks(args: Sequence[object], kwargs: Mapping[str, object], kind_of: Callable[[object], Kind]) -> Looks | None:
    """All that decides which row a call has; None where that is not told in few words."""
    looks: list[object] = []
    for value in (*args, *kwargs.values()):
        kind = kind_of(value)
        if kind is Kind.TENSOR or kind is Kind.EITHER:
            looks.append(kind)
        elif value is None or value is UNKNOWN or isinstance(value, (int, float, str)):
            looks += (kind, type(value), value)
        elif isinstance(value, (list, tuple)):
            if len(value) > MOST_PARTS_TOLD or any(type(p) is not int and kind_of(p) is Kind.OTHER for p in value):
                return None
            looks += (kind, type(value), len(value), *(p if type(p) is int else kind_of(p) for p in value))
        else:
            return None
    return (len(args), *kwargs, *looks)


def plain_literal(value: object) -> object:
    """A list of equal integers, such as ``(1, 1)``, as that number: torch reads the two alike."""
    if isinstance(value, (list, tuple)) and value and all(type(item) is int and item == value[0] for item in value):
        return value[0]
    return value


def fit(
    params: tuple[Param, ...],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    kind_of: Callable[[object], Kind],
) -> int:
    """How well a signature suits a call: a misfit costs more than any number of fits gains."""
    score = 0
    known = {param.name: param for param in params}
    bound = bind_params(params, args, kwargs)
    for key, value in bound.items():
        param = known.get(key)
        if param is None:
            score -= 100
            continue
        kind = _list_kind(value, kind_of)
        if kind is param.kind or Kind.EITHER in (kind, param.kind):
            score += 1
        elif kind is not Kind.OTHER and {kind, param.kind} != {Kind.TENSOR, Kind.TENSORS}:
            score -= 100
        if isinstance(param.default, bool) and type(value) is int:
            score -= 2  # std(x, 1) names a dimension, std(x, False) says unbiased
    return score - 10 * sum(param.required and param.name not in bound for param in params)


def _list_kind(value: object, kind_of: Callable[[object], Kind]) -> Kind:
    """The kind of an argument; sizes given as a list are numbers."""
    kind = kind_of(value)
    if kind is Kind.OTHER and isinstance(value, (list, tuple)) and all(kind_of(item) is Kind.NUMBER for item in value):
        return Kind.NUMBER
    return kind


def bind_params(params: Sequence[Param], args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """A call's arguments by public name; see :func:`bind`."""
    bound: dict[str, object] = {}
    positional = [param for param in params if not param.keyword_only]
    for place, param in enumerate(positional):
        if param.variadic:
            rest = args[place:]
            if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
                bound[param.name] = rest[0]
            elif rest:
                bound[param.name] = tuple(rest)
            break
        if place >= len(args):
            break
        bound[param.name] = args[place]
    else:
        for place in range(len(positional), len(args)):
            bound[f"extra{place}"] = args[place]
    names = {param.name for param in params}
    for key, value in kwargs.items():
        other = _NUMPY_NAMES.get(key)
        bound[other if other in names and key not in names else key] = value
    return bound


def bind(row: OpRow, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """A call's arguments by public name.

    A variadic parameter (the sizes of ``view``, the operands of ``einsum``) takes what is left as a tuple, or the one
    list given in its place. Unknown keywords are kept, positions too many are kept as ``extra3`` and so on.
    """
    return bind_params(row.params, args, kwargs)


@cache
def table() -> OpsTable:
    """The measured table.

    Raises:
        RuntimeError: where the package's data file is missing or damaged (reinstall gradsense).
    """
    try:
        with open(_DATA, encoding="utf-8") as file:
            return OpsTable(json.load(file))
    except (OSError, ValueError, KeyError) as error:
        raise RuntimeError(f"the ops table {_DATA} cannot be read ({error}): reinstall gradsense") from error
