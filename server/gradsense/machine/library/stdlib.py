"""Python's standard library and other packages that training code uses."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import builtin, frameworks, parametrizations, tensor_methods, unknown
from gradsense.machine.library.arguments import argument
from gradsense.machine.limits import MOST_BITS
from gradsense.machine.state import ProgramRaises
from gradsense.machine.values import (
    ITERATOR,
    ContextValue,
    DictValue,
    External,
    Instance,
    ListValue,
    NamedTuple,
    Native,
    Partial,
    Unknown,
    Value,
    Zipped,
    a_number,
    bounded,
    tensors_in,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

NUMBER_PACKAGES = ("numpy", "random.", "time.", "math.")
DATA_PACKAGES = (
    *NUMBER_PACKAGES,
    "os.",
    "pandas.",
    "scipy.",
    "sklearn.",
    "matplotlib.",
    "logging.",
    "sys.",
    "json.",
    "argparse.",
    "pathlib.",
    "re.",
    "PIL.",
    "cv2.",
    "warnings.",
    "datetime.",
    "string.",
    "glob.",
    "shutil.",
    "subprocess.",
    "pickle.",
    "csv.",
    "torchvision.datasets",
    "torchvision.transforms",
    "torchvision.utils",
    "gym.",
    "gymnasium.",
    "wandb.",
    "skimage.",
    "imageio.",
    "yaml.",
    "datasets.",
    "enum.",
    "heapq.",
    "io.",
    "gc.",
    "inspect.",
    "traceback.",
)
PROGRESS = ("tqdm", "track", "progress_bar", "progress")


def call(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calls a function or class by its dotted name."""
    known = _FUNCTIONS.get(name)
    if known is not None:
        return known(machine, arguments, keywords, node)
    last = name.rpartition(".")[2]
    first = arguments[0] if arguments else None
    if last in PROGRESS:
        return argument(arguments, keywords, 0, "iterable", Unknown())
    if last == "trange":
        return builtin.call(machine, "range", arguments, {}, node)
    if name.startswith("math."):
        function = getattr(math, last, None)
        numbers = [a for a in arguments if isinstance(a, (int, float))]
        # What grows with the number itself, and not with its digits, is computed for small ones only.
        slow = last in ("factorial", "comb", "perm") and any(n > MOST_BITS for n in numbers)
        if callable(function) and numbers and len(numbers) == len(arguments) and not slow:
            try:
                result = function(*numbers)
            except (ArithmeticError, TypeError, ValueError):
                return a_number()
            return bounded(result) if isinstance(result, (int, float)) else a_number()
        return a_number()
    if name.startswith(("numpy", "matplotlib", "seaborn", "pandas")):
        _as_arrays(machine, last, [*arguments, *keywords.values()], keywords.get("out"))
    if name in ("sys.exit", "os._exit"):
        raise ProgramRaises("SystemExit")
    if name.startswith(DATA_PACKAGES):
        made_of = unknown.sources_of([*arguments, *keywords.values()])
        made = Unknown(data=True, number=name.startswith(NUMBER_PACKAGES[1:]), name=last, sources=made_of)
        if name.startswith("numpy"):
            number = next(iter(first.items), None) if isinstance(first, ListValue) else first
            made.cut = number.cut if isinstance(number, Unknown) else None
        return made
    if name.startswith("einops.") and isinstance(first, Tensor):
        return _einops(machine, last, first)
    told = frameworks.call_outside(machine, name, arguments, keywords, node)
    if told is not None:
        return told[0]
    return unknown.call_unknown(machine, Unknown(name=last), arguments, keywords, node)


def _as_arrays(machine: Machine, last: str, values: list[Value], out: Value) -> None:
    """numpy and plotting turn tensors into arrays, which raises where one needs grad."""
    for value in values:
        if isinstance(value, Unknown) and value.alias is not None and value is out:
            machine.mark_alias_write(value.alias)
    if last not in ARRAY_MAKERS:
        return
    for value in values:
        if isinstance(value, Tensor):
            tensor_methods.check_numpy(machine, value, None)
        elif isinstance(value, ListValue):
            for item in value.items:
                if isinstance(item, Tensor):
                    store = value.last_store
                    tensor_methods.check_numpy(machine, item, store.place if store is not None else None)


ARRAY_MAKERS = frozenset(
    """array asarray mean sum std var plot scatter bar hist imshow stack concatenate median max min
    fill_between semilogy""".split()
)


def _einops(machine: Machine, name: str, tensor: Tensor) -> Value:
    if name == "rearrange":
        return (
            machine.view(tensor, "rearrange", None) if tensor.contiguous else machine.record("rearrange", [tensor])[0]
        )
    return machine.record(name, [tensor], dtype=tensor.dtype)[0]


def field_default(machine: Machine, node: ast.expr) -> Value:
    """The default of a dataclass field: `field(default_factory=list)` makes a new value each time."""
    if isinstance(node, ast.Call):
        called = node.func
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if name in ("field", "Factory", "ib"):
            for keyword in node.keywords:
                if keyword.arg in ("default_factory", "factory"):
                    return machine.call(machine.evaluate(keyword.value), [], {}, node)
                if keyword.arg == "default":
                    return machine.evaluate(keyword.value)
            return Unknown()
    return machine.evaluate(node)


def _attribute(machine: Machine, owner: Instance, name: str, memo: dict[int, Value]) -> Value:
    """A copy of an object's attribute."""
    value = owner.attributes[name]
    if not isinstance(value, Tensor) or id(value) in memo:
        return deepcopy(machine, value, memo)
    store = owner.stores.get(name)
    made = parametrizations.hooked_at(owner, name)
    copied = tensor_methods.deepcopy(machine, value, store if store is not None and store.what is value else None, made)
    memo[id(value)] = copied
    return copied


def deepcopy(machine: Machine, value: Value, memo: dict[int, Value]) -> Value:
    """`copy.deepcopy`."""
    if id(value) in memo:
        return memo[id(value)]
    copied: Value = value
    if isinstance(value, Tensor):
        copied = tensor_methods.deepcopy(machine, value)
    elif isinstance(value, ListValue):
        copied = ListValue(made=machine.here(), kind=value.kind)
        memo[id(value)] = copied
        copied.items = [deepcopy(machine, v, memo) for v in value.items]
        copied.open, copied.homogeneous, copied.maximum = value.open, value.homogeneous, value.maximum
    elif isinstance(value, DictValue):
        copied = DictValue(made=machine.here())
        memo[id(value)] = copied
        copied.items = {k: deepcopy(machine, v, memo) for k, v in value.items.items()}
        copied.open, copied.default = value.open, value.default
    elif isinstance(value, tuple):
        copied = tuple(deepcopy(machine, v, memo) for v in value)
    elif isinstance(value, Unknown):
        copied = Unknown(number=value.number, data=value.data, name=value.name, site=value.site, sources=value.sources)
        copied.configuration = value.configuration
    elif isinstance(value, Instance):
        copied = Instance(value.kind, value.cls, value.made)
        memo[id(value)] = copied
        copied.is_module, copied.training, copied.opaque = value.is_module, value.training, value.opaque
        copied.forward_hooks, copied.pre_hooks = list(value.forward_hooks), list(value.pre_hooks)
        copied.options = {k: v for k, v in value.options.items() if k != "phantom"}
        copied.stores = dict(value.stores)
        copied.attributes = {k: _attribute(machine, value, k, memo) for k in list(value.attributes)}
        if value.children is not None:
            children = deepcopy(machine, value.children, memo)
            copied.children = children if isinstance(children, (ListValue, DictValue)) else None
            copied.child_names = {k: deepcopy(machine, v, memo) for k, v in value.child_names.items()}
    memo[id(value)] = copied
    return copied


Call = Callable[["Machine", list[Value], dict[str, Value], "ast.AST | None"], Value]


def _deepcopy(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return deepcopy(machine, arguments[0] if arguments else None, {})


def _copy(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, ListValue):
        return ListValue(value.items, machine.here(), value.kind)
    if isinstance(value, DictValue):
        return DictValue(value.items, machine.here())
    if isinstance(value, Instance):
        made = Instance(value.kind, value.cls, value.made)
        made.attributes = dict(value.attributes)
        made.is_module, made.children, made.options = value.is_module, value.children, dict(value.options)
        return made
    return value


def _deque(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    first = arguments[0] if arguments else keywords.get("iterable")
    items = [] if first is None or isinstance(first, Unknown) else machine.items_of(first, node)[0]
    made = ListValue(items, machine.here(), "deque")
    limit = argument(arguments, keywords, 1, "maxlen")
    made.maximum = limit if isinstance(limit, int) else None
    return made


def _defaultdict(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    made = DictValue(made=machine.here())
    made.default = arguments[0] if arguments else None
    return made


def _ordered_dict(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    made = DictValue(made=machine.here())
    first = arguments[0] if arguments else None
    if isinstance(first, DictValue):
        made.items.update(first.items)
    elif first is not None and not isinstance(first, Unknown):
        for pair in machine.items_of(first, node)[0]:
            if isinstance(pair, tuple) and len(pair) == 2:
                made.items[machine.dict_key(pair[0])] = pair[1]
    made.items.update(keywords)
    return made


def _choice(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    """Any item: the first, where all are data; of modules and options no one in particular."""
    items = arguments[0].items if arguments and isinstance(arguments[0], ListValue) else []
    if items and all(isinstance(item, Tensor | tuple) for item in items):
        return items[0]
    return Unknown(data=True, name="choice")


def _sample(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    """Some of the items of a list of data."""
    first = argument(arguments, keywords, 0, "population")
    if isinstance(first, ListValue) and first.items and all(isinstance(item, Tensor | tuple) for item in first.items):
        made = ListValue(first.items, machine.here(node))
        made.open = True
        return made
    return Unknown(data=True, name="sample", sources=unknown.sources_of(arguments))


def _partial(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Partial(arguments[0], arguments[1:], keywords) if arguments else Unknown()


def _reduce(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) < 2:
        return Unknown()
    items = machine.items_of(arguments[1], node)[0]
    if len(arguments) > 2:
        items = [arguments[2], *items]
    if not items:
        return Unknown()
    total = items[0]
    for item in items[1:]:
        total = machine.call(arguments[0], [total, item], {}, node)
    return total


def _accumulate(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    items = machine.items_of(arguments[0], node)[0] if arguments else []
    function = argument(arguments, keywords, 1, "func")
    first = keywords.get("initial")
    items = items if first is None else [first, *items]
    totals: list[Value] = items[:1]
    for item in items[1:]:
        before = totals[-1]
        if function is None:
            totals.append(machine.binary(ast.Add, before, item))
        else:
            totals.append(machine.call(function, [before, item], {}, node))
    return ListValue(totals, machine.here(node))


def _star_map(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) < 2:
        return Unknown()
    rows = [machine.items_of(row, node)[0] for row in machine.items_of(arguments[1], node)[0]]
    return ListValue([machine.call(arguments[0], row, {}, node) for row in rows], machine.here(node))


def _operator(op: type[ast.operator]) -> Call:
    def operated(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        return machine.binary(op, arguments[0], arguments[1]) if len(arguments) == 2 else Unknown()

    return operated


def _chain(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return ListValue([v for a in arguments for v in machine.items_of(a, node)[0]], machine.here(), ITERATOR)


def _chain_iterable(
    machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    groups = machine.items_of(arguments[0], node)[0] if arguments else []
    return ListValue([v for g in groups for v in machine.items_of(g, node)[0]], machine.here(), ITERATOR)


def _cycle(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else Unknown()
    if not isinstance(value, (ListValue, tuple)):
        return value
    items = machine.items_of(value, node)[0]
    endless = ListValue(items * (1 + 12 // max(len(items), 1)), machine.here())
    endless.open = True
    return endless


def _islice(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else Unknown()
    ends = [a for a in arguments[1:] if isinstance(a, int)]
    if isinstance(value, (ListValue, tuple)) and len(ends) == len(arguments) - 1 and ends:
        items = machine.items_of(value, node)[0]
        return ListValue(items[slice(*ends)], machine.here())
    return value


def _replace(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else Unknown()
    if not isinstance(value, Instance):
        return value
    made = Instance(value.kind, value.cls, machine.here(node))
    made.attributes = {**value.attributes, **keywords}
    made.epoch = machine.epoch
    for name, part in made.attributes.items():
        made.stores[name] = machine.note_store(part, "attribute", f".{name}", node or machine.node, None, made)
    return made


def _asdict(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    return DictValue.named(value.attributes) if isinstance(value, Instance) else Unknown()


def _repeat(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    count = arguments[1] if len(arguments) > 1 else 3
    return ListValue([arguments[0] if arguments else Unknown()] * (min(count, 6) if isinstance(count, int) else 3))


def _count(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return range(10**6)


def _product(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    columns = [machine.items_of(a, node)[0] for a in arguments]
    return ListValue([tuple(column[0] if column else Unknown() for column in columns)])


def _pairwise(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    items = machine.items_of(arguments[0], node)[0] if arguments else []
    return Zipped([ListValue(items), ListValue(items[1:])])


def _named_tuple(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    fields = arguments[1] if len(arguments) > 1 else None
    names: tuple[str, ...] = ()
    if isinstance(fields, str):
        names = tuple(fields.replace(",", " ").split())
    elif isinstance(fields, (ListValue, tuple)):
        parts = fields.items if isinstance(fields, ListValue) else list(fields)
        names = tuple(p for p in parts if isinstance(p, str))

    def build(values: list[Value], named: dict[str, Value]) -> Value:
        filled = [values[i] if i < len(values) else named.get(n, Unknown()) for i, n in enumerate(names)]
        return NamedTuple.of(filled, names)

    return Native("namedtuple", build)


def _simple_namespace(
    machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    made = Instance("namespace", None, machine.here(node))
    made.attributes.update(keywords)
    return made


def _null_context(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return ContextValue("plain", arguments[0] if arguments else None)


def _weak_ref(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Unknown(data=True)


_FUNCTIONS: dict[str, Call] = {
    "copy.deepcopy": _deepcopy,
    "copy.copy": _copy,
    "collections.deque": _deque,
    "collections.defaultdict": _defaultdict,
    "collections.OrderedDict": _ordered_dict,
    "collections.namedtuple": _named_tuple,
    "collections.Counter": _ordered_dict,
    "types.SimpleNamespace": _simple_namespace,
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "operator.add": _operator(ast.Add),
    "operator.mul": _operator(ast.Mult),
    "operator.sub": _operator(ast.Sub),
    "operator.truediv": _operator(ast.Div),
    "operator.matmul": _operator(ast.MatMult),
    "itertools.accumulate": _accumulate,
    "itertools.starmap": _star_map,
    "itertools.zip_longest": lambda m, a, k, n: Zipped(a),
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_iterable,
    "itertools.cycle": _cycle,
    "itertools.islice": _islice,
    "dataclasses.replace": _replace,
    "dataclasses.asdict": _asdict,
    "itertools.repeat": _repeat,
    "itertools.count": _count,
    "itertools.product": _product,
    "itertools.pairwise": _pairwise,
    "contextlib.nullcontext": _null_context,
    "random.choice": _choice,
    "random.choices": _sample,
    "random.sample": _sample,
    "weakref.ref": _weak_ref,
}

__all__ = ["External", "call", "deepcopy", "field_default", "tensors_in"]
