"""Files of the workspace whose import only defines things: they are run once, and all paths share what they defined."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.values import (
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    Function,
    ListValue,
    Native,
    Partial,
    ProgramModule,
    Unknown,
    Value,
    parts_of,
)

# How deep a value is looked into.
DEPTH = 4
_PLAIN = (*SCALARS, External, ProgramModule, Native, range, type(...))


def is_static(value: Value) -> bool:
    """Whether a value can't carry anything of one path into another: no tensor or object, and nothing that may be."""
    seen: set[int] = set()
    todo: list[tuple[Value, int]] = [(value, 0)]
    while todo:
        part, depth = todo.pop()
        if isinstance(part, Unknown):
            if part.sources or part.phantom is not None or part.alias is not None:
                return False
        elif not isinstance(part, _PLAIN) and id(part) not in seen:
            held = _held(part, depth) if depth <= DEPTH else None
            if held is None:
                return False
            seen.add(id(part))
            todo += [(inner, depth + 1) for inner in held]
    return True


def _held(value: Value, depth: int) -> Iterable[Value] | None:
    """What a value that is static by itself holds; None for one that is not."""
    if isinstance(value, Function) and "cache" not in value.attributes:
        return (*value.defaults, *value.keyword_defaults, *value.attributes.values())
    if isinstance(value, ListValue | tuple) or (isinstance(value, DictValue) and value.default is None):
        return parts_of(value)
    if isinstance(value, ClassValue):
        return () if depth else value.namespace.values()
    if isinstance(value, BoundMethod):
        return (value.function, value.receiver)
    if isinstance(value, Partial):
        return (value.function, *value.arguments, *value.keywords.values())
    return None


def forget_use(unknown: Unknown) -> None:
    """Makes an unknown as it was before a path found out about it."""
    unknown.phantom = None
    unknown.alias = None
    unknown.attributes = {}


class SharedModules:
    """The shared files of one workspace.

    A path may write into a shared container or class. What it wrote is undone when the path ends, unless it only
    registered definitions, as a registry of models does while it is imported.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets all, after a file changed."""
        self._modules: dict[str, ProgramModule] = {}
        self._lists: list[tuple[ListValue, list[Value]]] = []
        self._dicts: list[tuple[DictValue, dict[Value, Value]]] = []
        self._spaces: list[tuple[dict[str, Value], dict[str, Value]]] = []
        self._watched: set[int] = set()
        self._unknowns: list[Unknown] = []

    def find(self, path: str) -> ProgramModule | None:
        """The shared module of a file, if it is one."""
        return self._modules.get(path)

    def offer(self, path: str, module: ProgramModule) -> None:
        """Shares a module that was just run, if all that it defined is static."""
        variables = module.frame.variables
        if module.frame.lookup is None and all(is_static(v) for v in variables.values()):
            self._modules[path] = module
            self._watch(variables)

    def _watch(self, space: dict[str, Value]) -> None:
        todo = [space]
        while todo:
            space = todo.pop()
            if id(space) in self._watched:
                continue
            self._watched.add(id(space))
            self._spaces.append((space, dict(space)))
            for value in space.values():
                if isinstance(value, ListValue):
                    self._lists.append((value, list(value.items)))
                elif isinstance(value, DictValue):
                    self._dicts.append((value, dict(value.items)))
                elif isinstance(value, Unknown):
                    self._unknowns.append(value)
                elif isinstance(value, ClassValue):
                    todo.append(value.namespace)

    def restore(self) -> None:
        """Undoes what the path that just ended wrote into shared things."""
        for unknown in self._unknowns:
            forget_use(unknown)
        for index, (held, items) in enumerate(self._lists):
            if len(held.items) != len(items):
                if all(is_static(v) for v in held.items):
                    self._lists[index] = (held, list(held.items))
                else:
                    held.items = list(items)
        for index, (table, entries) in enumerate(self._dicts):
            if len(table.items) != len(entries):
                if all(is_static(v) for v in table.items.values()):
                    self._dicts[index] = (table, dict(table.items))
                else:
                    table.items = dict(entries)
        for index, (space, names) in enumerate(self._spaces):
            if len(space) != len(names) or any(space[k] is not v for k, v in names.items() if k in space):
                if all(is_static(v) for v in space.values()):
                    self._spaces[index] = (space, dict(space))
                else:
                    space.clear()
                    space.update(names)
