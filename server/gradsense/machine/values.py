"""Abstract values: what an expression can be while a program is run without torch.

Numbers, strings, booleans and None stand for themselves; tuples are Python tuples of values; a tensor is a
`graph.Tensor`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from gradsense.machine.graph import Cut, Node, Store, Tensor
from gradsense.machine.limits import LONGEST_TEXT, MOST_BITS
from gradsense.machine.place import Epoch, Place
from gradsense.machine.tri import Tri
from gradsense.syntax.source import Source

if TYPE_CHECKING:
    from gradsense.machine.frames import Frame

Value: TypeAlias = object
Site: TypeAlias = tuple[object, ...]

SCALARS = (int, float, str, bool, type(None))


def origin_of(site: Site) -> tuple[object, tuple[tuple[object, ...], ...]]:
    """The file and the calling context of the call that a site identifies, or a part of whose result it identifies."""
    while isinstance(site[0], tuple):
        site = site[0]
    return site[0], cast("tuple[tuple[object, ...], ...]", site[4])


class Unknown:
    """A value we cannot see.

    Attributes:
        site: identifies the call it came from, so that a later use can tell what it must have been.
        number: known to be a number, string or other plain data: it carries no graph and indexes make views.
        data: known to come from data or configuration: it carries no graph.
        configuration: what a constructor's caller gave that is not seen, or a part of it. It may be a network or a
            weight all the same: no error rests on its having no graph.
        name: the attribute or variable, for messages and for library names.
        sources: the tensors that went into the call; the result may depend on them.
        parameter: a parameter of a function that was run by itself.
        arguments: the unknowns that went in, which share its fate when it turns out to have a graph.
        owner: the value it is an attribute of.
    """

    __slots__ = (
        "alias",
        "arguments",
        "attributes",
        "configuration",
        "cut",
        "data",
        "name",
        "number",
        "owner",
        "parameter",
        "phantom",
        "site",
        "sources",
    )

    def __init__(
        self,
        *,
        number: bool = False,
        data: bool = False,
        name: str | None = None,
        site: Site | None = None,
        sources: tuple[Tensor, ...] = (),
        owner: Value = None,
    ) -> None:
        self.number = number
        self.data = data or number
        self.name = name
        self.site = site
        self.sources = sources
        self.owner = owner
        self.configuration = False
        self.parameter = False
        self.arguments: tuple[Unknown, ...] = ()
        self.attributes: dict[str, Value] = {}
        # Where a tensor became this number.
        self.cut: Cut | None = None
        # The tensor whose memory this array shares.
        self.alias: Tensor | None = None
        # The leaf that stands for the parameters of an unknown module.
        self.phantom: Tensor | None = None

    def __repr__(self) -> str:
        return f"<unknown {self.name or ''}>"


def a_number() -> Unknown:
    """A number whose value is not known."""
    return Unknown(number=True)


# Cuts after which a tensor is another look at the same numbers.
DETACHING = frozenset(("detach", "detach_", "data"))


def number_from(tensor: Tensor, how: str, place: Place) -> Unknown:
    """The number that a tensor became by `item()`, `tolist()` or `float()`: its graph ends there.

    `x.detach().item()` is the same number as `x.item()`, so what ended at the `detach` ends here.
    """
    number = Unknown(number=True, sources=(tensor,))
    last = tensor.cuts[-1] if tensor.node is None and tensor.cuts else None
    number.cut = Cut(how, place, last.lost if last is not None and last.how in DETACHING else (tensor,))
    return number


# The kind of a list of items that can be taken once: a generator expression, `filter(…)`, `module.parameters()`.
ITERATOR = "iterator"


class ListValue:
    """A list, deque or set, or an iterator, which gives its items once.

    Attributes:
        items: its elements.
        open: more may be in it than we saw (an attribute in a method run by itself).
        homogeneous: stands for data of unknown length, all alike.
        grown: the pass in which an item was last appended.
        begun: the pass in which it got its first item.
        used_up: where somebody took the items of an iterator.
    """

    __slots__ = (
        "begun",
        "grown",
        "homogeneous",
        "items",
        "kind",
        "last_store",
        "made",
        "maximum",
        "open",
        "stores",
        "used_up",
    )

    def __init__(self, items: Iterable[Value] = (), made: Place | None = None, kind: str = "list") -> None:
        self.items: list[Value] = list(items)
        self.made = made
        self.kind = kind
        self.open = False
        self.homogeneous = False
        self.grown: Epoch = ()
        self.begun: Epoch = ()
        self.maximum: int | None = None
        self.stores: list[Store] = []
        self.last_store: Store | None = None
        self.used_up: Place | None = None


class DictValue:
    """A dictionary. Items whose key is unknown are kept under `UNKNOWN_KEY`."""

    __slots__ = ("default", "items", "last_store", "made", "open", "stores")

    def __init__(self, items: dict[Value, Value] | None = None, made: Place | None = None) -> None:
        self.items: dict[Value, Value] = dict(items or {})
        self.made = made
        self.open = False
        self.default: Value = None
        self.stores: list[Store] = []
        self.last_store: Store | None = None

    @classmethod
    def named(cls, items: Mapping[str, Value]) -> DictValue:
        """A dictionary of named values: attributes, keyword arguments, the variables of a scope."""
        made = cls()
        made.items.update(items.items())
        return made


class _UnknownKey:
    def __repr__(self) -> str:
        return "<any key>"


UNKNOWN_KEY = _UnknownKey()


class NamedTuple(tuple[Value, ...]):
    """A tuple whose items have names: `(values, indices)` of `max`, or a user's named tuple."""

    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Iterable[Value], fields: tuple[str, ...]) -> NamedTuple:
        """A named tuple of these values."""
        made = cls(values)
        made.fields = fields
        return made


class Function:
    """A function or lambda of the program.

    Attributes:
        kind: `staticmethod`, `classmethod`, `property`, `contextmanager`, … or None.
        grad_mode: the mode its decorator sets, or None: (grad enabled, inference).
        keeping: the defaults that may hold tensors, such as a list that fills up over the calls.
    """

    __slots__ = (
        "attributes",
        "defaults",
        "environment",
        "grad_mode",
        "grad_mode_place",
        "keeping",
        "keyword_defaults",
        "kind",
        "node",
        "owner",
        "source",
    )

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        environment: Frame,
        source: Source,
        defaults: list[Value],
        keyword_defaults: list[Value],
    ) -> None:
        self.node = node
        self.environment = environment
        self.source = source
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        self.keeping = [d for d in (*defaults, *keyword_defaults) if type(d) not in HOLD_NOTHING]
        self.kind: str | None = None
        self.owner: ClassValue | None = None
        self.grad_mode: tuple[bool, bool] | None = None
        self.grad_mode_place: Place | None = None
        self.attributes: dict[str, Value] = {}

    @property
    def name(self) -> str:
        """The function's name, `<lambda>` for a lambda."""
        return getattr(self.node, "name", "<lambda>")


class BoundMethod:
    """A function with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver


class LibraryMethod:
    """A method of a value whose class is not written in the program: `x.relu`, `items.append`, `model.parameters`."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Partial:
    """`functools.partial`."""

    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords


class Native:
    """A callable that the machine itself provides."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[[list[Value], dict[str, Value]], Value]) -> None:
        self.name = name
        self.call = call


class External:
    """Something of a library, by its full dotted name: `torch.nn.functional.relu`."""

    __slots__ = ("_members", "last", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        # The last part of the name.
        self.last = name.rpartition(".")[2]
        self._members: dict[str, External] = {}

    def member(self, name: str) -> External:
        """What it has by that name."""
        known = self._members.get(name)
        if known is None:
            known = self._members[name] = External(f"{self.name}.{name}")
        return known

    def __repr__(self) -> str:
        return f"<{self.name}>"


class ClassValue:
    """A class of the program."""

    __slots__ = ("bases", "fields", "name", "namespace", "node", "order", "source")

    def __init__(self, node: ast.ClassDef, source: Source, bases: list[Value]) -> None:
        self.node = node
        self.source = source
        self.name = node.name
        self.bases = bases
        self.namespace: dict[str, Value] = {}
        # Fields of a dataclass or a NamedTuple: (name, default expression).
        self.fields: list[tuple[str, ast.expr | None]] | None = None
        self.order: list[ClassValue] | None = None

    def linear(self) -> list[ClassValue]:
        """This class and its bases in the program, nearest first (depth first, repeats dropped)."""
        if self.order is None:
            found: dict[ClassValue, None] = {}
            todo = [self]
            while todo:
                cls = todo.pop()
                if cls not in found:
                    found[cls] = None
                    todo += [base for base in reversed(cls.bases) if isinstance(base, ClassValue)]
            self.order = list(found)
        return self.order

    def find(self, name: str) -> Value:
        """The class attribute, or None; use `has` where None is a value."""
        for cls in self.linear():
            if name in cls.namespace:
                return cls.namespace[name]
        return None

    def has(self, name: str) -> bool:
        """Whether the class or a base defines the attribute."""
        return any(name in cls.namespace for cls in self.linear())

    def library_bases(self) -> list[str]:
        """The dotted names of bases that come from libraries."""
        return [base.name for cls in self.linear() for base in cls.bases if isinstance(base, External)]

    @property
    def has_unknown_base(self) -> bool:
        """Whether a base is something we cannot see into."""
        for cls in self.linear():
            for base in cls.bases:
                if isinstance(base, Unknown):
                    return True
                if isinstance(base, External) and not base.name.startswith(_KNOWN_BASES):
                    return True
        return False


_KNOWN_BASES = (
    "torch",
    "builtins",
    "abc",
    "typing",
    "enum",
    "collections",
    "dataclasses",
    "pytorch_lightning",
    "lightning",
)


class Instance:
    """An object: of a class of the program, or of a library class that the machine knows by `kind`.

    Attributes:
        kind: the library class, such as `Linear`, `Sequential`, `DataLoader`, `ctx`, or None.
        is_module: whether it is an `nn.Module`.
        children: the items of Sequential, ModuleList, ModuleDict and their kin.
        opaque: it has parts that we cannot see.
    """

    __slots__ = (
        "attributes",
        "backward_hook",
        "backward_hooks",
        "child_names",
        "children",
        "cls",
        "epoch",
        "forward_hooks",
        "is_module",
        "kind",
        "made",
        "opaque",
        "options",
        "pre_hooks",
        "stores",
        "training",
    )

    def __init__(self, kind: str | None, cls: ClassValue | None, made: Place) -> None:
        self.kind = kind
        self.cls = cls
        self.made = made
        self.attributes: dict[str, Value] = {}
        self.stores: dict[str, Store] = {}
        self.children: ListValue | DictValue | None = None
        # Names of children that are held by position.
        self.child_names: dict[str, Value] = {}
        self.options: dict[str, Value] = {}
        self.is_module = False
        self.training: bool | None = True
        self.forward_hooks: list[Value] = []
        self.backward_hooks: list[Value] = []
        self.pre_hooks: list[Value] = []
        self.backward_hook: Place | None = None
        # The passes in which it was made.
        self.epoch: Epoch = ()
        self.opaque = False

    def __repr__(self) -> str:
        return f"<{self.cls.name if self.cls else self.kind} object>"


class Optimizer:
    """An optimizer with the parameters it steps.

    Attributes:
        fused: its steps do not bump versions.
        groups: the parameters of each group that the program wrote.
        complete: whether all its parameters are known.
    """

    __slots__ = ("complete", "fused", "groups", "made", "name", "parameters", "unknowns")

    def __init__(self, name: str, parameters: list[Tensor], fused: bool, made: Place) -> None:
        self.name = name
        self.parameters = parameters
        self.fused = fused
        self.made = made
        self.complete = True
        self.unknowns: list[Unknown] = []
        self.groups: list[list[Tensor]] = []


class Distribution:
    """A `torch.distributions` object over its parameter tensors."""

    __slots__ = ("name", "parameters")

    def __init__(self, name: str, parameters: dict[str, Value]) -> None:
        self.name = name
        self.parameters = parameters

    def tensors(self) -> list[Tensor]:
        """Its parameters that are tensors, of nested distributions too."""
        out: list[Tensor] = []
        for value in self.parameters.values():
            if isinstance(value, Tensor):
                out.append(value)
            elif isinstance(value, Distribution):
                out += value.tensors()
        return out


class GradFn:
    """`tensor.grad_fn`."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


# Whether gradients are recorded, whether it is inference mode, whether autocast is on.
Modes = tuple[Tri, bool, bool]


class GradMode:
    """`torch.no_grad()` and its kin as a value: a context manager or a decorator.

    Args:
        enabled: whether gradients are recorded inside, None if unknown.
        inference: whether it is inference mode.
        previous: the mode before, where making the value already set it (`set_grad_enabled`).
    """

    __slots__ = ("enabled", "inference", "previous")

    def __init__(self, enabled: bool | None, inference: bool = False, previous: Modes | None = None) -> None:
        self.enabled = enabled
        self.inference = inference
        self.previous = previous


class ContextValue:
    """A context manager that only hands over a value: `autocast()`, `scale_loss(loss, optimizer)`, an open file."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Value = None) -> None:
        self.name = name
        self.value = value


class Enumerated:
    """`enumerate(x, start)`."""

    __slots__ = ("iterable", "start")

    def __init__(self, iterable: Value, start: Value = 0) -> None:
        self.iterable = iterable
        self.start = start


class Zipped:
    """`zip(a, b, …)`."""

    __slots__ = ("iterables",)

    def __init__(self, iterables: list[Value]) -> None:
        self.iterables = iterables


class Mapped:
    """`map(f, a, …)`, whose calls happen as it is iterated."""

    __slots__ = ("function", "iterables")

    def __init__(self, function: Value, iterables: list[Value]) -> None:
        self.function = function
        self.iterables = iterables


class Lazy:
    """An item that is made when the loop reaches it, so that it belongs to the right pass."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Value]) -> None:
        self.make = make


class GeneratorValue:
    """A call of a generator function, or a generator expression, that has not been run yet.

    Args:
        run: runs the expression, and hands over each item.
    """

    __slots__ = ("arguments", "call", "function", "keywords", "pending", "run")

    def __init__(
        self,
        function: Function | None,
        arguments: list[Value],
        keywords: dict[str, Value],
        call: ast.AST | None,
        run: Callable[[Callable[[Value], Value]], None] | None = None,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.call = call
        self.run = run
        # What an eager run yielded and `next` has not taken yet.
        self.pending: list[Value] | None = None


class SuperProxy:
    """`super()`."""

    __slots__ = ("after", "receiver")

    def __init__(self, after: ClassValue | None, receiver: Value) -> None:
        self.after = after
        self.receiver = receiver


class ProgramModule:
    """A file of the workspace as a value: `import utils`."""

    __slots__ = ("frame", "name")

    def __init__(self, name: str, frame: Frame) -> None:
        self.name = name
        self.frame = frame


# No whole number is followed further than this.
BIG = 1 << MOST_BITS


def bounded(value: Value) -> Value:
    """The value itself; an unknown number where a text is too long or a number too big to go on with."""
    if isinstance(value, int):
        return value if -BIG < value < BIG else a_number()
    return a_number() if isinstance(value, str) and len(value) > LONGEST_TEXT else value


def parts_of(value: Value) -> Iterable[Value]:
    """What a container holds; nothing for other values."""
    if isinstance(value, ListValue):
        return value.items
    if isinstance(value, DictValue):
        return value.items.values()
    return value if isinstance(value, tuple) else ()


def tensors_in(value: Value) -> list[Tensor]:
    """The tensors in a value and in the containers that it is made of, to a depth of six.

    A container that is met again, as in a list that holds itself, is not looked into again.
    """
    found: list[Tensor] = []
    seen: set[int] = set()
    todo: list[tuple[Value, int]] = [(value, 0)]
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, Distribution):
            found += value.tensors()
        elif depth <= 6 and id(value) not in seen:
            parts = parts_of(value)
            if isinstance(value, Instance) and not value.is_module and value.cls is not None:
                parts = value.attributes.values()
            inner = [(part, depth + 1) for part in parts if not isinstance(part, SCALARS)]
            if inner:
                seen.add(id(value))
                todo += reversed(inner)
    return found


class LoopIndex(Unknown):
    """The index of a loop whose length is not known: the first pass is known to be the first.

    Args:
        position: the pass, from 0.
        last: whether it is the last pass that is run.
        total: how many passes the loop really has, where that is known.
    """

    __slots__ = ("last", "position", "total")

    def __init__(self, position: int, last: bool, total: int | None = None) -> None:
        super().__init__(number=True)
        self.position = position
        self.last = last
        self.total = total


class Growing(int):
    """A count that goes on growing in a loop of which only the first passes are run: it gets to any larger number."""

    __slots__ = ()


# Values of these kinds keep no tensor alive.
HOLD_NOTHING = frozenset((*SCALARS, Growing, External, ProgramModule, Unknown, LoopIndex, range))
