"""Python's builtins."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import ops
from gradsense.machine.limits import MOST_BITS
from gradsense.machine.state import ProgramRaises
from gradsense.machine.values import (
    ITERATOR,
    ClassValue,
    DictValue,
    Enumerated,
    External,
    Function,
    GeneratorValue,
    GradFn,
    Growing,
    Instance,
    ListValue,
    Mapped,
    Partial,
    SuperProxy,
    Unknown,
    Value,
    Zipped,
    a_number,
    bounded,
    number_from,
)

if TYPE_CHECKING:
    from gradsense.machine.frames import Frame
    from gradsense.machine.interpreter import Machine

NAMES = frozenset(
    """print len range enumerate zip list tuple dict set sum min max abs round float int str bool isinstance
    issubclass getattr setattr hasattr super sorted reversed map filter any all next iter type id dir vars
    repr format open input divmod pow callable slice object property staticmethod classmethod frozenset
    hash locals globals exit quit Exception ValueError RuntimeError NotImplementedError KeyError TypeError
    StopIteration IndexError AssertionError ImportError bytes complex bytearray chr ord hex NotImplemented
    Ellipsis __name__ __file__ memoryview eval exec delattr BaseException OSError AttributeError
    KeyboardInterrupt FileNotFoundError Warning UserWarning DeprecationWarning aiter anext bin oct""".split()
)
Call = Callable[["Machine", list[Value], dict[str, Value], "ast.AST | None"], Value]


def call(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calls a builtin."""
    function = _FUNCTIONS.get(name)
    if function is not None:
        return function(machine, arguments, keywords, node)
    if name.endswith(("Error", "Exception", "Iteration", "Warning", "Interrupt")):
        return Unknown(data=True)
    first, _, rest = name.partition(".")
    if rest and first in ("dict", "list", "str", "object"):
        return DictValue() if name == "dict.fromkeys" else Unknown()
    return a_number()


def super_proxy(machine: Machine, arguments: list[Value]) -> Value:
    """`super()` in the function being run, or `super(cls, self)`."""
    if len(arguments) == 2:
        after = arguments[0] if isinstance(arguments[0], ClassValue) else None
        return SuperProxy(after, arguments[1])
    frame: Frame | None = machine.frame
    while frame is not None:
        if frame.function is not None and frame.function.owner is not None:
            return SuperProxy(frame.function.owner, frame.receiver)
        frame = frame.parent
    return Unknown()


def _print(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return None


def _len(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Instance) and value.children is not None:
        value = value.children
    if isinstance(value, ListValue):
        if value.open or value.homogeneous:
            return a_number()
        goes_on = machine.goes_on(value.grown) or machine.went_on(value.begun)
        return Growing(len(value.items)) if goes_on else len(value.items)
    if isinstance(value, DictValue):
        return a_number() if value.open else len(value.items)
    if isinstance(value, (str, tuple, range)):
        return len(value)
    if isinstance(value, Tensor) and value.shape and value.shape[0] is not None:
        return value.shape[0]
    if isinstance(value, Instance) and value.cls is not None and value.cls.has("__len__"):
        result = machine.call(value.cls.find("__len__"), [value], {}, node)
        return result if isinstance(result, int) else a_number()
    return a_number()


def _range(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    numbers = [a for a in arguments if isinstance(a, int)]
    if len(numbers) == len(arguments) and numbers:
        try:
            # Its length must be a number that Python can count.
            return range(*(max(min(n, 2**60), -(2**60)) for n in numbers))
        except (TypeError, ValueError):
            return a_number()
    start = arguments[0] if len(arguments) > 1 else 0
    step = arguments[2] if len(arguments) > 2 else 1
    if start == 0 and step == 1 and not isinstance(start, bool):
        # The end is unknown; a loop is taken to run more than a few times.
        return range(10**6)
    made = ListValue([a_number() for _ in range(3)])
    made.open = True
    return made


def _enumerate(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    start = arguments[1] if len(arguments) > 1 else keywords.get("start", 0)
    return Enumerated(arguments[0] if arguments else Unknown(), start)


def _zip(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Zipped(arguments)


def _map(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Mapped(arguments[0], arguments[1:]) if len(arguments) > 1 else Unknown()


def _collect(kind: str) -> Call:
    def collected(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        if not arguments:
            return () if kind == "tuple" else ListValue(made=machine.here(), kind=kind)
        value = arguments[0]
        if isinstance(value, Unknown):
            return value
        items, exact = machine.items_of(value, node)
        if kind == "reversed":
            items = items[::-1]
        if kind == "tuple":
            return tuple(items)
        made = ListValue(items, machine.here(), "set" if kind in ("set", "frozenset") else "list")
        made.open = not exact and isinstance(value, ListValue)
        for item in items:
            if isinstance(item, Tensor):
                machine.note_store(item, "item", "", node or machine.node, None, made)
        return made

    return collected


def _filter(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) < 2:
        return Unknown()
    function, value = arguments[0], arguments[1]
    if isinstance(value, Unknown):
        return value
    items = machine.items_of(value, node)[0]
    if isinstance(function, (Function, Partial)):
        items = [i for i in items if machine.truth(machine.call(function, [i], {}, node)) is not False]
    return ListValue(items, machine.here(), ITERATOR)


def _iter(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else Unknown()
    if isinstance(value, (GeneratorValue, Unknown)):
        return value
    if isinstance(value, (ListValue, tuple, DictValue)):
        return ListValue(machine.items_of(value, node)[0])
    return value


def _next(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    fallback = arguments[1] if len(arguments) > 1 else None
    if isinstance(value, GeneratorValue):
        started = value.pending is not None
        pending = machine.run_generator(value)
        item = pending.pop(0) if pending else Unknown()
        return machine.made_early(item) if started else item
    if isinstance(value, ListValue):
        return value.items.pop(0) if value.items else fallback if len(arguments) > 1 else Unknown()
    if isinstance(value, Unknown):
        return Unknown(data=value.data, sources=value.sources)
    if isinstance(value, Instance) and value.cls is not None and value.cls.has("__next__"):
        return machine.call(value.cls.find("__next__"), [value], {}, node)
    items = machine.lazy_items(value, node)[0] if value is not None else []
    return machine.force(items[0]) if items else Unknown()


def _dict(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    made = DictValue(made=machine.here())
    first = arguments[0] if arguments else None
    if isinstance(first, DictValue):
        made.items.update(first.items)
        made.open = first.open
    elif isinstance(first, Unknown):
        made.open = True
    elif first is not None:
        for pair in machine.items_of(first, node)[0]:
            if isinstance(pair, tuple) and len(pair) == 2:
                made.items[machine.dict_key(pair[0])] = pair[1]
    made.items.update(keywords)
    for value in made.items.values():
        if isinstance(value, Tensor):
            machine.note_store(value, "item", "", node or machine.node, None, made)
    return made


def _sum(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Unknown):
        return Unknown(sources=value.sources)
    total: Value = arguments[1] if len(arguments) > 1 else keywords.get("start", 0)
    if value is not None:
        for item in machine.items_of(value, node)[0]:
            total = machine.binary(ast.Add, total, item)
    return total


def _extreme(smallest: bool) -> Call:
    def extreme(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        values = arguments
        if len(arguments) == 1:
            values = [Unknown()] if isinstance(arguments[0], Unknown) else machine.items_of(arguments[0], node)[0]
        if values and all(isinstance(v, (int, float)) for v in values):
            numbers = [v for v in values if isinstance(v, (int, float))]
            return min(numbers) if smallest else max(numbers)
        if not values and "default" in keywords:
            return keywords["default"]
        tensors = [v for v in values if isinstance(v, Tensor)]
        if tensors or not any(isinstance(v, (tuple, ListValue, Instance)) for v in values):
            return tensors[0] if tensors else a_number()
        # Which one it is we cannot know; they are alike as a rule.
        return values[0]

    return extreme


def _number(convert: Callable[..., object]) -> Call:
    def converted(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        if arguments and all(isinstance(a, (int, float, str, bool)) for a in arguments):
            machine.look_at_device(arguments[0])
            if convert is round and any(isinstance(a, int) and abs(a) > MOST_BITS for a in arguments[1:]):
                return a_number()
            try:
                return bounded(convert(*arguments))
            except (ArithmeticError, TypeError, ValueError):
                return a_number()
        first = arguments[0] if arguments else None
        if convert is float and isinstance(first, Tensor):
            machine.note_sync(first)
        if isinstance(first, Tensor) and convert in (float, int):
            return number_from(first, convert.__name__, machine.here())
        return a_number()

    return converted


def _abs(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Tensor):
        return ops.operate(machine, "abs", [value])
    return abs(value) if isinstance(value, (int, float)) else a_number()


def _pow(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return machine.binary(ast.Pow, arguments[0], arguments[1]) if len(arguments) == 2 else a_number()


PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "list": ListValue,
    "set": ListValue,
    "tuple": tuple,
    "dict": DictValue,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
}
TENSOR_TYPES = frozenset(
    (
        "torch.Tensor",
        "torch.autograd.Variable",
        "torch.FloatTensor",
        "torch.cuda.FloatTensor",
        "torch.nn.parameter.Parameter",
    )
)


def is_instance(value: Value, kind: Value) -> bool | None:
    """`isinstance(value, kind)`, None if unknown."""
    if isinstance(kind, tuple):
        answers = [is_instance(value, k) for k in kind]
        return True if True in answers else None if None in answers else False
    if isinstance(value, Unknown):
        return None
    if isinstance(kind, External):
        return _is_external(value, kind.name)
    if isinstance(kind, ClassValue):
        if isinstance(value, Instance) and value.cls is not None:
            if kind in value.cls.linear():
                return True
            return None if value.cls.has_unknown_base else False
        return False
    return None


def _is_external(value: Value, name: str) -> bool | None:
    if name in TENSOR_TYPES:
        return isinstance(value, Tensor)
    if name == "torch.nn.Parameter":
        return isinstance(value, Tensor) and value.parameter
    if name.startswith("builtins."):
        python = PYTHON_TYPES.get(name[9:])
        if python is None:
            return None
        if isinstance(value, ListValue):
            return (
                (name[9:] == "set") == (value.kind == "set")
                and name[9:] in ("list", "set")
                and value.kind not in ("deque", ITERATOR)
            )
        return isinstance(value, python)
    if name.startswith("torch.nn."):
        kind = name.rpartition(".")[2]
        if not isinstance(value, Instance):
            return False
        if kind == "Module":
            return value.is_module
        if kind.startswith("_"):
            return None
        return value.kind == kind
    if name in ("collections.abc.Mapping", "typing.Mapping", "collections.OrderedDict"):
        return isinstance(value, DictValue)
    if name in ("collections.abc.Sequence", "typing.Sequence", "collections.abc.Iterable", "typing.Iterable"):
        return isinstance(value, (ListValue, tuple, str))
    if isinstance(value, (Tensor, ListValue, DictValue, tuple, str, int, float, type(None))):
        return False
    return None


def _isinstance(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    known = is_instance(arguments[0], arguments[1]) if len(arguments) > 1 else None
    return a_number() if known is None else known


def _issubclass(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) > 1 and isinstance(arguments[0], ClassValue) and isinstance(arguments[1], ClassValue):
        return arguments[1] in arguments[0].linear()
    return a_number()


def _has(machine: Machine, value: Value, name: str) -> bool | None:
    if isinstance(value, Instance):
        if name in value.attributes or (value.cls is not None and value.cls.has(name)):
            return True
        if value.opaque or value.cls is None:
            return None
        return name in MODULE_ATTRIBUTES if value.is_module else False
    if isinstance(value, ListValue):
        return name in ("append", "__len__", "__iter__", "extend")
    if isinstance(value, (int, float)):
        return False
    if isinstance(value, Tensor):
        return (
            name in ("detach", "backward", "grad", "item", "shape", "dim", "numpy", "requires_grad", "data", "size")
            or None
        )
    return None


MODULE_ATTRIBUTES = frozenset(
    "parameters train eval forward training children modules state_dict named_parameters".split()
)


def _getattr(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) < 2:
        return Unknown()
    value, name = arguments[0], arguments[1]
    if not isinstance(name, str):
        if isinstance(value, GradFn) and value.node.freed is not None:
            return machine.read_saved(value)
        return Unknown(sources=value.sources if isinstance(value, Unknown) else ())
    if len(arguments) > 2 and _has(machine, value, name) is False:
        return arguments[2]
    return machine.get_attribute(value, name)


def _setattr(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) > 2 and isinstance(arguments[1], str):
        value_node = node.args[2] if isinstance(node, ast.Call) and len(node.args) > 2 else None
        machine.set_attribute(arguments[0], arguments[1], arguments[2], node or machine.node, value_node)
    return None


def _hasattr(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) > 1 and isinstance(arguments[1], str):
        known = _has(machine, arguments[0], arguments[1])
        return a_number() if known is None else known
    return a_number()


def _delattr(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) > 1 and isinstance(arguments[0], Instance) and isinstance(arguments[1], str):
        arguments[0].attributes.pop(arguments[1], None)
    return None


def _dir(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if arguments and isinstance(arguments[0], GradFn):
        return ListValue(["_saved_self", "_saved_result", "name", "next_functions"])
    return ListValue()


def _type(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Instance):
        return value.cls or External(f"torch.nn.{value.kind}")
    return External("torch.Tensor") if isinstance(value, Tensor) else Unknown()


def _exit(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    raise ProgramRaises("SystemExit")


def _object(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Instance(None, None, machine.here(node))


def _vars(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    return DictValue.named(value.attributes) if isinstance(value, Instance) else DictValue()


def _globals(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    machine.names_read |= machine.frame.file.variables.keys()
    return DictValue.named(machine.frame.file.variables)


def _slice(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return slice(*arguments) if 0 < len(arguments) <= 3 else slice(None)


def _unknown(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Unknown(data=True)


def _any_all(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if arguments and not isinstance(arguments[0], Unknown):
        machine.items_of(arguments[0], node)
    return a_number()


def _callable(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    return a_number() if isinstance(value, Unknown) else isinstance(value, (Function, ClassValue, Partial, Instance))


_FUNCTIONS: dict[str, Call] = {
    "print": _print,
    "len": _len,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "list": _collect("list"),
    "tuple": _collect("tuple"),
    "set": _collect("set"),
    "frozenset": _collect("frozenset"),
    "sorted": _collect("sorted"),
    "reversed": _collect("reversed"),
    "filter": _filter,
    "iter": _iter,
    "next": _next,
    "dict": _dict,
    "sum": _sum,
    "min": _extreme(True),
    "max": _extreme(False),
    "int": _number(int),
    "float": _number(float),
    "bool": _number(bool),
    "str": _number(str),
    "round": _number(round),
    "abs": _abs,
    "pow": _pow,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "delattr": _delattr,
    "dir": _dir,
    "type": _type,
    "exit": _exit,
    "quit": _exit,
    "object": _object,
    "vars": _vars,
    "globals": _globals,
    "locals": _globals,
    "slice": _slice,
    "open": _unknown,
    "input": _unknown,
    "eval": _unknown,
    "any": _any_all,
    "all": _any_all,
    "callable": _callable,
}
