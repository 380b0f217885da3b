"""Files of the workspace whose import only defines things: they are run once, and every path shares what they defined."""

from __future__ import annotations

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
)

# How deep a value is looked into.
DEPTH = 4


def is_static(value: Value, depth: int = 0) -> bool:
    """Whether a value can't carry anything of one path into another: no tensor, no object, nothing that may become one."""
    if isinstance(value, Unknown):
        return not value.sources and value.phantom is None and value.alias is None
    if isinstance(value, Function):
        held = (*value.defaults, *value.keyword_defaults, *value.attributes.values())
        return "cache" not in value.attributes and all(is_static(d, depth + 1) for d in held)
    if isinstance(value, (*SCALARS, External, ProgramModule, Native, range, type(...))):
        return True
    if depth > DEPTH:
        return False
    if isinstance(value, ListValue):
        return all(is_static(v, depth + 1) for v in value.items)
    if isinstance(value, DictValue):
        return value.default is None and all(is_static(v, depth + 1) for v in value.items.values())
    if isinstance(value, tuple):
        return all(is_static(v, depth + 1) for v in value)
    if isinstance(value, ClassValue):
        return depth > 0 or all(is_static(v, depth + 1) for v in value.namespace.values())
    if isinstance(value, BoundMethod):
        return is_static(value.function, depth + 1) and is_static(value.receiver, depth + 1)
    if isinstance(value, Partial):
        return is_static(value.function, depth + 1) and all(
            is_static(v, depth + 1) for v in (*value.arguments, *value.keywords.values())
        )
    return False


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
        self._spaces.append((space, dict(space)))
        for value in space.values():
            if isinstance(value, ListValue):
                self._lists.append((value, list(value.items)))
            elif isinstance(value, DictValue):
                self._dicts.append((value, dict(value.items)))
            elif isinstance(value, Unknown):
                self._unknowns.append(value)
            elif isinstance(value, ClassValue) and not any(s is value.namespace for s, _ in self._spaces[-200:]):
                self._watch(value.namespace)

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
