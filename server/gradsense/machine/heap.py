"""What module-level code left behind, so that what is run later can start from it again and again."""

from __future__ import annotations

from collections.abc import Container, Iterable

from gradsense.machine.frames import Frame
from gradsense.machine.graph import Store
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
    Unknown,
    Value,
)

Containers = ListValue | DictValue


class Heap:
    """The values that the variables of some scopes hold, as they are now.

    What a run does to them is undone in place, so that functions, classes and modules stay the same. It is not where a
    tensor came to be in a container or an object: what was found may refer to it.

    Args:
        frames: the scopes of files.
        elsewhere: the ids of values that another heap looks after.

    Attributes:
        static: whether there is nothing among them that a run could change unseen: a tensor, an optimizer, a generator.
        ids: the ids of all functions, classes, containers and objects seen.
        classes: the classes among them.
    """

    def __init__(self, frames: Iterable[Frame], elsewhere: Container[int] = ()) -> None:
        self.static = True
        self.ids: set[int] = set()
        self.classes: list[ClassValue] = []
        self._elsewhere = elsewhere
        self._frames: list[tuple[Frame, dict[str, Value], dict[str, Store]]] = []
        self._unknowns: list[tuple[Unknown, dict[str, Value]]] = []
        self._containers: list[tuple[Containers, list[Value] | dict[Value, Value], list[Store], bool]] = []
        self._instances: list[tuple[Instance, dict[str, Value], dict[str, Store], bool | None]] = []
        self._todo: list[Value] = []
        self._known_frames: set[int] = set()
        for frame in frames:
            self._take_frame(frame)
        self.follow(())

    def follow(self, values: Iterable[Value]) -> None:
        """Takes values and all that they hold."""
        self._todo += values
        while self._todo and self.static:
            value = self._todo.pop()
            if not isinstance(value, (*SCALARS, External)):
                self._take(value)

    def _take_frame(self, frame: Frame) -> None:
        if id(frame) not in self._known_frames:
            self._known_frames.add(id(frame))
            self._frames.append((frame, dict(frame.variables), dict(frame.stores)))
            self._todo += frame.variables.values()

    def _take(self, value: Value) -> None:
        if id(value) in self.ids or id(value) in self._elsewhere:
            return
        self.ids.add(id(value))
        if isinstance(value, tuple):
            self._todo += value
        elif isinstance(value, Function):
            self._take_function(value)
        elif isinstance(value, ClassValue):
            self.classes.append(value)
            self._todo += value.namespace.values()
            self._todo += value.bases
        elif isinstance(value, ListValue):
            self._containers.append((value, list(value.items), list(value.stores), value.open))
            self._todo += value.items
        elif isinstance(value, DictValue):
            self._containers.append((value, dict(value.items), list(value.stores), value.open))
            self._todo += value.items.values()
            self._todo += value.items
            self._todo.append(value.default)
        elif isinstance(value, Unknown):
            self.static = value.phantom is None and value.alias is None and not value.sources
            self._unknowns.append((value, dict(value.attributes)))
            self._todo += value.attributes.values()
            self._todo += value.arguments
        elif isinstance(value, Instance):
            self._take_instance(value)
        elif isinstance(value, BoundMethod):
            self._todo += (value.function, value.receiver)
        elif isinstance(value, Partial):
            self._todo += (value.function, *value.arguments, *value.keywords.values())
        elif isinstance(value, LibraryMethod):
            self._todo.append(value.receiver)
        elif not isinstance(value, (ProgramModule, GradMode, range, slice, type(...))):
            self.static = False

    def _take_function(self, function: Function) -> None:
        self._todo += function.defaults
        self._todo += function.keyword_defaults
        self._todo += function.attributes.values()
        scope: Frame | None = function.environment
        while scope is not None and scope.parent is not None:
            # A call that is over and lives on in what it defined; the names of a class are with the class.
            if scope.cls is None:
                self._take_frame(scope)
            scope = scope.parent

    def _take_instance(self, value: Instance) -> None:
        if value.is_module or value.forward_hooks or value.pre_hooks:
            self.static = False
            return
        self._instances.append((value, dict(value.attributes), dict(value.stores), value.training))
        self._todo += value.attributes.values()
        self._todo += value.child_names.values()
        self._todo += value.options.values()
        self._todo.append(value.children)
        if value.cls is not None:
            self._todo.append(value.cls)

    def changed(self) -> bool:
        """Whether a container or an object holds something else now."""
        return any(container.items != items for container, items, _, _ in self._containers) or any(
            instance.attributes != attributes for instance, attributes, _, _ in self._instances
        )

    def restore(self) -> bool:
        """Undoes what was done, and says whether that could be."""
        for container, items, _, _ in self._containers:
            if container.items != items and not _is_static([container]):
                return False
        for instance, attributes, _, _ in self._instances:
            if instance.attributes != attributes and not _is_static([instance]):
                return False
        for frame, variables, stores in self._frames:
            frame.variables = dict(variables)
            frame.stores = dict(stores)
        for unknown, attributes in self._unknowns:
            unknown.attributes = dict(attributes)
            unknown.phantom = unknown.alias = None
        for container, items, stores_of_it, is_open in self._containers:
            if container.items != items:
                container.items = items.copy()
            container.stores = list(stores_of_it)
            container.open = is_open
        for instance, attributes, stores, training in self._instances:
            if instance.attributes != attributes:
                instance.attributes = dict(attributes)
            instance.stores = dict(stores)
            instance.training = training
        return True


def _is_static(values: list[Value]) -> bool:
    heap = Heap(())
    heap.follow(values)
    return heap.static
