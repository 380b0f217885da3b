"""What is different about the scopes of files after they were run again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from gradsense.machine.frames import Frame
from gradsense.machine.graph import Store
from gradsense.machine.place import Place
from gradsense.machine.trees import statements_in
from gradsense.machine.values import (
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    Function,
    GradMode,
    Instance,
    LibraryMethod,
    ListValue,
    Partial,
    ProgramModule,
    Site,
    Unknown,
    Value,
    origin_of,
)

# What the bodies of classes were, which change in place.
Bodies = Mapping[ClassValue, tuple[ast.stmt, ...]]


def body_of(node: ast.ClassDef) -> tuple[ast.stmt, ...]:
    """The statements of a class, and those inside of them; of functions only that they are there."""
    return tuple(statements_in(node.body, classes=True))


class Likeness:
    """Compares what variables hold with what they held before, however deep.

    Two values are alike if nothing that a program can do with them comes to anything else, and if what is said about
    them is about the same lines.

    Args:
        before: the bodies of the classes that there were.
        now: the bodies of those that there are.
    """

    def __init__(self, before: Bodies, now: Bodies) -> None:
        self._before = before
        self._now = now
        # Pairs that are alike, or are being compared.
        self._alike: set[tuple[int, int]] = set()
        self._added: list[tuple[int, int]] = []
        self._held: list[object] = []

    def changed(self, before: Frame, now: Frame) -> set[str]:
        """The names of two scopes that do not mean the same."""
        names = before.variables.keys() ^ now.variables.keys()
        names |= {
            n for n in before.imported.keys() | now.imported.keys() if before.imported.get(n) != now.imported.get(n)
        }
        for name in before.variables.keys() & now.variables.keys():
            self._added.clear()
            same = self._are_alike(before.variables[name], now.variables[name])
            if not same or not self._same_store(before.stores.get(name), now.stores.get(name)):
                self._alike.difference_update(self._added)
                names.add(name)
        return names

    def _are_alike(self, a: Value, b: Value) -> bool:
        if a is b:
            return True
        kind = type(a)
        if kind is not type(b):
            return False
        if isinstance(a, SCALARS):
            return bool(a == b)
        if (id(a), id(b)) in self._alike:
            return True
        self._assume(a, b)
        compare = _COMPARISONS.get(kind)
        return compare is not None and compare(self, a, b)

    def _assume(self, a: object, b: object) -> None:
        pair = (id(a), id(b))
        self._alike.add(pair)
        self._added.append(pair)
        # What has an id here must not make room for another.
        self._held += (a, b)

    def _all(self, a: Iterable[Value], b: Iterable[Value]) -> bool:
        ours, theirs = list(a), list(b)
        return len(ours) == len(theirs) and all(map(self._are_alike, ours, theirs))

    def _named(self, a: Mapping[Any, Value], b: Mapping[Any, Value]) -> bool:
        return self._all(a, b) and self._all(a.values(), b.values())

    def _same_place(self, a: Place | None, b: Place | None) -> bool:
        if a is None or b is None:
            return a is b
        if a.node is not b.node or len(a.stack) != len(b.stack):
            return False
        return all(map(self._same_place, a.stack, b.stack))

    def _same_store(self, a: Store | None, b: Store | None) -> bool:
        if a is None or b is None:
            return a is b
        return (a.kind, a.name, a.epoch) == (b.kind, b.name, b.epoch) and self._same_place(a.place, b.place)

    def _same_stores(self, a: Iterable[Store], b: Iterable[Store]) -> bool:
        ours, theirs = list(a), list(b)
        return len(ours) == len(theirs) and all(map(self._same_store, ours, theirs))

    # ------------------------------------------------------------------ kinds of values

    def _tuples(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
        return self._all(a, b)

    def _plain(self, a: Value, b: Value) -> bool:
        return bool(a == b)

    def _externals(self, a: External, b: External) -> bool:
        return a.name == b.name

    def _modules(self, a: ProgramModule, b: ProgramModule) -> bool:
        # What is in it is compared by itself.
        return a.name == b.name and a.frame.source is b.frame.source

    def _functions(self, a: Function, b: Function) -> bool:
        if a.node is not b.node or a.source is not b.source or a.kind != b.kind or a.grad_mode != b.grad_mode:
            return False
        return (
            self._same_place(a.grad_mode_place, b.grad_mode_place)
            and self._all(a.defaults, b.defaults)
            and self._all(a.keyword_defaults, b.keyword_defaults)
            and self._named(a.attributes, b.attributes)
            and self._are_alike(a.owner, b.owner)
            and self._scopes(a.environment, b.environment)
        )

    def _scopes(self, a: Frame | None, b: Frame | None) -> bool:
        """The scopes of calls that are over; those of files are compared by themselves."""
        while a is not None and b is not None and a is not b:
            if a.parent is None or b.parent is None:
                return a.parent is b.parent and a.source is b.source
            if a.cls is None and (id(a), id(b)) not in self._alike:
                self._assume(a, b)
                if not self._named(a.variables, b.variables):
                    return False
            a, b = a.parent, b.parent
        return a is b

    def _classes(self, a: ClassValue, b: ClassValue) -> bool:
        if a.node is not b.node or a.source is not b.source or self._before.get(a) != self._now.get(b):
            return False
        fields, others = a.fields or [], b.fields or []
        if (a.fields is None) != (b.fields is None) or len(fields) != len(others):
            return False
        same = all(one[0] == two[0] and one[1] is two[1] for one, two in zip(fields, others, strict=True))
        return same and self._all(a.bases, b.bases) and self._named(a.namespace, b.namespace)

    def _bound(self, a: BoundMethod, b: BoundMethod) -> bool:
        return self._are_alike(a.function, b.function) and self._are_alike(a.receiver, b.receiver)

    def _library(self, a: LibraryMethod, b: LibraryMethod) -> bool:
        return a.name == b.name and self._are_alike(a.receiver, b.receiver)

    def _partials(self, a: Partial, b: Partial) -> bool:
        same = self._are_alike(a.function, b.function) and self._all(a.arguments, b.arguments)
        return same and self._named(a.keywords, b.keywords)

    def _modes(self, a: GradMode, b: GradMode) -> bool:
        return (a.enabled, a.inference, a.previous) == (b.enabled, b.inference, b.previous)

    def _unknowns(self, a: Unknown, b: Unknown) -> bool:
        if _facts(a) != _facts(b):
            return False
        return (
            a.cut is None
            and self._are_alike(a.owner, b.owner)
            and self._named(a.attributes, b.attributes)
            and self._all(a.arguments, b.arguments)
            and self._all(a.sources, b.sources)
        )

    def _lists(self, a: ListValue, b: ListValue) -> bool:
        if (a.kind, a.open, a.homogeneous, a.maximum, a.used_up is None) != (
            b.kind,
            b.open,
            b.homogeneous,
            b.maximum,
            b.used_up is None,
        ):
            return False
        if (a.grown, a.begun) != (b.grown, b.begun) or not self._same_place(a.made, b.made):
            return False
        return self._same_stores(a.stores, b.stores) and self._all(a.items, b.items)

    def _dictionaries(self, a: DictValue, b: DictValue) -> bool:
        if a.open != b.open or not self._same_place(a.made, b.made) or not self._same_stores(a.stores, b.stores):
            return False
        return self._are_alike(a.default, b.default) and self._named(a.items, b.items)

    def _objects(self, a: Instance, b: Instance) -> bool:
        if (a.kind, a.training, a.epoch, a.opaque) != (b.kind, b.training, b.epoch, b.opaque):
            return False
        return (
            self._same_place(a.made, b.made)
            and self._are_alike(a.cls, b.cls)
            and self._named(a.attributes, b.attributes)
            and a.stores.keys() == b.stores.keys()
            and self._same_stores(a.stores.values(), b.stores.values())
            and self._named(a.options, b.options)
            and self._named(a.child_names, b.child_names)
            and self._are_alike(a.children, b.children)
        )


def _columns(site: Site | None) -> object:
    """A call without the lines that it is on, which move."""
    if site is None:
        return None
    if isinstance(site[0], tuple):
        return (_columns(site[0]), *site[1:])
    _, stack = origin_of(site)
    return (site[0], *site[2:4], tuple((path, *rest) for path, _, *rest in stack))


_COMPARISONS: dict[type, Any] = {
    tuple: Likeness._tuples,
    range: Likeness._plain,
    slice: Likeness._plain,
    type(...): Likeness._plain,
    External: Likeness._externals,
    ProgramModule: Likeness._modules,
    Function: Likeness._functions,
    ClassValue: Likeness._classes,
    BoundMethod: Likeness._bound,
    LibraryMethod: Likeness._library,
    Partial: Likeness._partials,
    GradMode: Likeness._modes,
    Unknown: Likeness._unknowns,
    ListValue: Likeness._lists,
    DictValue: Likeness._dictionaries,
    Instance: Likeness._objects,
}


def _facts(value: Unknown) -> tuple[object, ...]:
    """What is known of an unknown by itself."""
    known = (value.number, value.data, value.configuration, value.name, value.parameter)
    return (*known, value.cut is None, _columns(value.site))
