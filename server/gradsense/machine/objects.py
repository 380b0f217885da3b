"""An object of a class of the program as its constructor left it, so that every method can be run on it by itself."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Mapping
from operator import attrgetter
from typing import Any

from gradsense.machine.frames import Frame
from gradsense.machine.graph import Cut, Storage, Store, Tensor, Write
from gradsense.machine.place import Place
from gradsense.machine.tri import Tri
from gradsense.machine.values import (
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    Distribution,
    External,
    Function,
    GradMode,
    Growing,
    Instance,
    LibraryMethod,
    ListValue,
    LoopIndex,
    Optimizer,
    Partial,
    ProgramModule,
    Unknown,
    Value,
)
from gradsense.syntax.source import Source

# What a run may change, and all that there is to change about it.
FIELDS: Mapping[type, tuple[str, ...]] = {
    Tensor: tuple(Tensor.__slots__),
    Storage: tuple(Storage.__slots__),
    Instance: tuple(Instance.__slots__),
    ListValue: tuple(ListValue.__slots__),
    DictValue: tuple(DictValue.__slots__),
    Unknown: tuple(Unknown.__slots__),
    LoopIndex: tuple(Unknown.__slots__),
    Optimizer: tuple(Optimizer.__slots__),
    Distribution: tuple(Distribution.__slots__),
    Function: ("attributes", "defaults", "grad_mode", "keyword_defaults", "kind", "owner"),
    Frame: ("variables", "stores"),
}
GETTERS: Mapping[type, Any] = {kind: attrgetter(*fields) for kind, fields in FIELDS.items()}
# What can't change, and holds nothing that can.
PLAIN = frozenset(
    (
        *SCALARS,
        Growing,
        Source,
        External,
        Place,
        Store,
        Write,
        Cut,
        Tri,
        ProgramModule,
        GradMode,
        range,
        slice,
        type(...),
    )
)


class Objects:
    """Values and all that they hold, as they are now, tensors included.

    Args:
        values: where to start.
        elsewhere: the ids of values that a heap looks after.

    Attributes:
        whole: whether all of it can be put back; a part of a graph, a generator or something native cannot.
    """

    def __init__(self, values: Iterable[Value], elsewhere: Container[int]) -> None:
        self.whole = True
        self._held: list[tuple[object, tuple[object, ...]]] = []
        self._elsewhere = elsewhere
        self._seen: set[int] = set()
        self._todo: list[object] = list(values)
        while self._todo and self.whole:
            value = self._todo.pop()
            if type(value) not in PLAIN and not isinstance(value, ast.AST):
                self._take(value)

    def _take(self, value: object) -> None:
        if isinstance(value, (tuple, list, set)):
            self._todo += value
            return
        if isinstance(value, dict):
            self._todo += value.values()
            self._todo += value
            return
        if id(value) in self._seen or id(value) in self._elsewhere:
            return
        self._seen.add(id(value))
        getter = GETTERS.get(type(value))
        if getter is not None:
            fields = getter(value)
            self._held.append((value, tuple(map(_copied, fields))))
            self._todo += fields
            if isinstance(value, Function):
                self._take_scopes(value.environment)
        elif isinstance(value, BoundMethod):
            self._todo += (value.function, value.receiver)
        elif isinstance(value, LibraryMethod):
            self._todo.append(value.receiver)
        elif isinstance(value, Partial):
            self._todo += (value.function, value.arguments, value.keywords)
        elif not isinstance(value, ClassValue):
            self.whole = False

    def _take_scopes(self, scope: Frame | None) -> None:
        while scope is not None and scope.parent is not None:
            if scope.cls is None:
                self._todo.append(scope)
            scope = scope.parent

    def restore(self) -> None:
        """Makes everything as it was."""
        for value, fields in self._held:
            kind = type(value)
            if GETTERS[kind](value) != fields:
                for name, field in zip(FIELDS[kind], fields, strict=True):
                    setattr(value, name, _copied(field))


def _copied(field: object) -> object:
    return field.copy() if type(field) in (list, dict, set) else field  # type: ignore[attr-defined]
