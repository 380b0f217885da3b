"""Running an op by the measured table: one layer for functions, methods and operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradsense.machine import strides
from gradsense.machine.books import SavedSpec
from gradsense.machine.events import NoDerivative
from gradsense.machine.graph import MAX_CUTS, Cut, Shape, Tensor
from gradsense.machine.library import op_shapes, plans
from gradsense.machine.ops.derivatives import installed
from gradsense.machine.ops.rows import UNKNOWN, Kind, OpRow, Saves, View
from gradsense.machine.ops.table import table
from gradsense.machine.shapes import broadcast
from gradsense.machine.tri import MAYBE, NO, YES, Tri
from gradsense.machine.values import (
    DictValue,
    External,
    ListValue,
    NamedTuple,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

FIELDS: dict[str, tuple[str, ...]] = {
    "max": ("values", "indices"),
    "min": ("values", "indices"),
    "median": ("values", "indices"),
    "nanmedian": ("values", "indices"),
    "mode": ("values", "indices"),
    "sort": ("values", "indices"),
    "topk": ("values", "indices"),
    "kthvalue": ("values", "indices"),
    "cummax": ("values", "indices"),
    "cummin": ("values", "indices"),
    "linalg.eigh": ("eigenvalues", "eigenvectors"),
    "linalg.eig": ("eigenvalues", "eigenvectors"),
    "linalg.svd": ("U", "S", "Vh"),
    "svd": ("U", "S", "V"),
    "linalg.qr": ("Q", "R"),
    "qr": ("Q", "R"),
    "linalg.slogdet": ("sign", "logabsdet"),
    "aminmax": ("min", "max"),
}
NON_CONTIGUOUS = frozenset(
    """t transpose permute expand expand_as swapaxes swapdims movedim moveaxis adjoint broadcast_to unfold
    as_strided""".split()
)
EXPANDING = frozenset(("expand", "expand_as", "broadcast_to"))
SLICING = frozenset(("select", "narrow"))
# Ops whose result may be a view, and is one for a contiguous tensor.
VIEW_IF_CONTIGUOUS = frozenset(("reshape", "flatten", "ravel", "reshape_as", "contiguous"))


def kind_of(value: object) -> Kind:
    """What an argument is, for the choice of a row."""
    if isinstance(value, Tensor):
        return Kind.TENSOR
    if isinstance(value, (list, tuple)) and value and any(isinstance(v, Tensor) for v in value):
        return Kind.TENSORS
    if isinstance(value, Unknown):
        return Kind.NUMBER if value.number else Kind.EITHER
    if isinstance(value, (bool, int, float)):
        return Kind.NUMBER
    return Kind.OTHER


def plain(value: Value) -> object:
    """A value as the table takes it: lists as Python lists, unknown numbers as unknown."""
    if isinstance(value, ListValue):
        return list(value.items)
    if isinstance(value, Unknown) and value.number:
        return UNKNOWN
    return value


def operate(
    machine: Machine,
    name: str,
    arguments: Sequence[Value],
    keywords: Mapping[str, Value] | None = None,
    *,
    shape: Shape | None = None,
) -> Value:
    """The result of an op: a tensor, a tuple of them, or something unknown.

    Args:
        name: the op's canonical name or an alias of it, such as `mul`, `nn.functional.linear`, `linalg.svd`.
        arguments: its positional arguments; a method's receiver is the first.
        shape: the size of the result, where the caller knows it better.
    """
    values = [*arguments, *keywords.values()] if keywords else arguments
    result = _operate(machine, name, arguments, keywords, values, shape)
    for value in values:
        if type(value) is Unknown and value.cut is not None and value.number and isinstance(result, Tensor):
            _cut_by_number(result, value.cut)
    return result


def _cut_by_number(result: Tensor, cut: Cut) -> None:
    """Notes that a number went in which had been a tensor of the graph."""
    if cut not in result.cuts:
        result.cuts = (*result.cuts, cut)[-MAX_CUTS:]


def _operate(
    machine: Machine,
    name: str,
    arguments: Sequence[Value],
    keywords: Mapping[str, Value] | None,
    values: Sequence[Value],
    shape: Shape | None,
) -> Value:
    looks = plans.looks_of(machine, name, values, keywords, shape)
    if looks is not None and (plan := plans.PLANS.get(looks)) is not None:
        return plan.run(machine, values)
    plain_arguments = [plain(a) for a in arguments]
    plain_keywords = {k: plain(v) for k, v in (keywords or {}).items()}
    found = table().resolve(name, plain_arguments, plain_keywords, kind_of)
    if found is None:
        return untabled(machine, name, [*arguments, *(keywords or {}).values()])
    row, bound = found
    if machine.module is None and any(param.required and param.name not in bound for param in row.params):
        # A call that this torch refuses, of code for another: what that made is not known. A layer's own is not like
        # this: what it has as attributes is not handed over here.
        return Unknown()
    if looks is None or row.view is not View.NONE or row.nondifferentiable or row.outputs != 1:
        return run_row(machine, row, bound, shape)
    plan = make_plan(machine, row, bound, values, shape)
    if plan is None:
        return run_row(machine, row, bound, shape)
    plans.keep(looks, plan)
    return plan.run(machine, values)


def make_plan(
    machine: Machine, row: OpRow, bound: dict[str, object], values: Sequence[Value], shape: Shape | None
) -> plans.Plan | None:
    """How an op with one result is recorded, or None if it has to be looked at anew each time."""
    tensors = named_tensors(machine, row, bound)
    if row.refuses and any(machine.needs_grad(t) is not NO for n in row.refuses for t in tensors.get(n, ())):
        return None
    at = {id(t): plans.position(t, values) for group in tensors.values() for t in group}
    if not tensors or None in at.values() or any(len(group) != 1 for group in tensors.values()):
        return None
    places = {key: place for key, place in at.items() if place is not None}
    saved, private, perhaps = collect(machine, row.saves, tensors, row.sure)
    if any(not isinstance(what, int) and id(what) not in places for what, _ in saved):
        return None
    first = next(iter(tensors.values()))[0]
    groups = [(name, places[id(group[0])]) for name, group in tensors.items()]
    return plans.Plan(
        row,
        row.name.rpartition(".")[2],
        groups,
        [place for name, place in groups if _differentiable(row, name)],
        [(True, what, sure) if isinstance(what, int) else (False, places[id(what)], sure) for what, sure in saved],
        [place for name, place in groups if not _differentiable(row, name)],
        private=private,
        perhaps=perhaps,
        shape=op_shapes.result_shape(row.name, bound) if shape is None else shape,
        dtype=_result_dtype(row, first, tensors),
    )


def run_row(machine: Machine, row: OpRow, bound: dict[str, object], shape: Shape | None = None) -> Value:
    """Runs an op whose row is known on arguments by public name."""
    tensors = named_tensors(machine, row, bound)
    if not tensors:
        return Unknown(data=all(not isinstance(v, Unknown) or v.data for v in bound.values()))
    if shape is None:
        shape = op_shapes.result_shape(row.name, bound)
    first = next(iter(tensors.values()))[0]
    if row.refuses and (given := refused(machine, row, tensors)) is not None:
        machine.report(NoDerivative(place=machine.here(), tensor=given[0], op=row.name, argument=given[1]))
    if row.nondifferentiable:
        if row.result == "value":
            return Unknown(number=True)
        return machine.constant(row.name, _flat(tensors), shape, "bool" if row.result == "bool" else "int64")
    if row.view is View.SAME:
        return first
    short = row.name.rpartition(".")[2]
    maybe = row.view is View.MAYBE and short in VIEW_IF_CONTIGUOUS
    if row.view is View.VIEW or maybe:
        if short == "contiguous" and first.contiguous:
            return first
        layout = strides.of_view(short, bound, first, shape) if short != "contiguous" else None
        # Where the sizes are not known, what is contiguous is viewed and the rest is copied.
        fits = first.contiguous if shape is None or None in shape or strides.of(first) is None else layout is not None
        cuts_inside = short in SLICING and bound.get("dim", 0) != 0
        if not maybe or (fits and short != "contiguous"):
            return machine.view(
                first,
                short,
                shape,
                contiguous=False if short in NON_CONTIGUOUS or cuts_inside else None,
                expanded=short in EXPANDING,
                layout=layout,
            )
    if row.view is View.MULTI:
        return multi_view(machine, row.name, first, bound)
    saved, private, perhaps = collect(machine, row.saves, tensors, row.sure)
    outputs = row.outputs or 2
    differentiable = row.differentiable_outputs if row.outputs else (True,) * outputs
    made = machine.record(
        short,
        [t for n, group in tensors.items() for t in group if _differentiable(row, n)],
        saved,
        private=private,
        perhaps=perhaps,
        shape=shape,
        shapes=[shape] * outputs if short in ("max", "min", "sort", "topk") else None,
        dtype=_result_dtype(row, first, tensors),
        differentiable=differentiable,
        sure=row.sure,
    )
    others = [t for n, group in tensors.items() if not _differentiable(row, n) for t in group]
    plans.note_origin(made[0], row, tensors, others)
    if made[0].needs is NO and any(map(_may_have_graph, bound.values())):
        made[0].origin = "unknown"
    if len(made) == 1:
        return made[0]
    fields = FIELDS.get(row.name)
    return NamedTuple.of(made, fields) if fields and len(fields) == len(made) else tuple(made)


def _may_have_graph(value: object) -> bool:
    """Whether it is something unseen that may well have a graph, such as a weight that a constructor was given."""
    return isinstance(value, Unknown) and not value.number and (not value.data or value.configuration)


# Given probabilities as the target, it multiplies them by the weights.
BY_PROBABILITY = frozenset(("nn.functional.cross_entropy",))
# Of the arguments that an op refuses to take when they need grad, those that people give one.
LEARNED = frozenset(("weight", "pos_weight"))


def refused(machine: Machine, row: OpRow, tensors: Mapping[str, list[Tensor]]) -> tuple[Tensor, str] | None:
    """A tensor that needs grad for an argument for which an op has no derivative, and the argument's name."""
    target = next(iter(tensors.get("target", ())), None)
    if machine.grad_mode is not YES or (row.name in BY_PROBABILITY and (target is None or target.floating)):
        return None
    for name in row.refuses:
        for tensor in tensors.get(name, ()) if name in LEARNED else ():
            if machine.needs_grad(tensor) is YES and tensor.origin == "known" and not tensor.phantom:
                return tensor, name
    return None


def index_kind(index: Value) -> str:
    """What an index that makes no view is, as the table has it."""
    parts = index if isinstance(index, tuple) else (index,)
    tensors = [p for p in parts if isinstance(p, Tensor)]
    if len(parts) == 1 and tensors:
        return "mask" if tensors[0].dtype == "bool" else "tensor"
    return "tensors" if tensors else "list"


def indexed(machine: Machine, tensor: Tensor, index: Value, shape: Shape | None) -> Value:
    """`tensor[index]` for an index that makes a copy."""
    kind = index_kind(index)
    if kind == "tensor":
        return operate(machine, "getitem", [tensor, index], shape=shape)
    row = table().lookup("getitem", ("input",), {"index": kind})
    if row is None:
        return untabled(machine, "index", [tensor])
    parts = index if isinstance(index, tuple) else (index,)
    bound: dict[str, object] = {"input": tensor, "index": parts[0] if kind == "mask" else list(parts)}
    return run_row(machine, row, bound, shape)


def _differentiable(row: OpRow, name: str) -> bool:
    return name in row.saves or f"{name}[]" in row.saves


def _result_dtype(row: OpRow, first: Tensor, tensors: Mapping[str, list[Tensor]]) -> str | None:
    if row.result in ("int", "bool"):
        return "bool" if row.result == "bool" else "int64"
    for group in tensors.values():
        for tensor in group:
            if tensor.floating:
                return tensor.dtype
    if row.name in ("div", "mean", "true_divide", "sqrt", "exp", "log"):
        return "float32"
    return first.dtype


def named_tensors(machine: Machine, row: OpRow, bound: Mapping[str, object]) -> dict[str, list[Tensor]]:
    """The tensors among the arguments, by parameter name; unknowns that may be tensors get a stand-in."""
    found: dict[str, list[Tensor]] = {}
    for name, value in bound.items():
        if isinstance(value, Tensor):
            found[name] = [value]
        elif isinstance(value, (list, tuple)):
            group = [t for v in value if (t := machine.as_tensor(v)) is not None]
            if (group and any(isinstance(v, Tensor) for v in value)) or (group and name in ("tensors", "operands")):
                found[name] = group
        elif isinstance(value, Unknown) and not value.number:
            param = row.param(name)
            if param is not None and param.kind in (Kind.TENSOR, Kind.EITHER):
                tensor = machine.as_tensor(value)
                if tensor is not None and (param.kind is Kind.TENSOR or machine.needs_grad(tensor) is not NO):
                    found[name] = [tensor]
    return found


def _flat(tensors: Mapping[str, list[Tensor]]) -> list[Tensor]:
    return [t for group in tensors.values() for t in group]


def collect(
    machine: Machine, table_saves: Mapping[str, Saves], tensors: Mapping[str, list[Tensor]], sure: bool
) -> tuple[list[SavedSpec], bool, bool]:
    """What the node of a call saves: tensors or output numbers, whether it keeps something private, whether it may."""
    kept: dict[object, SavedSpec] = {}
    private = perhaps = False
    for name, group in tensors.items():
        saves = table_saves.get(name) or table_saves.get(f"{name}[]")
        if saves is None:
            continue
        needs = [machine.needs_grad(t) for t in group]
        if all(n is NO for n in needs):
            continue
        certain = YES in needs and sure
        named = False
        for what, known in [(w, True) for w in saves.tensors] + [(w, False) for w in saves.maybe]:
            for spec in _resolve(what, name, group, needs, tensors):
                named = True
                if YES not in needs and not isinstance(spec, int) and spec not in group:
                    # Of two tensors that nobody knows, one is likely to be data, for which the other is not kept.
                    perhaps = True
                    continue
                key = spec if isinstance(spec, int) else id(spec)
                before = kept.get(key)
                kept[key] = (spec, (known and certain) or (before is not None and before[1]))
        private = private or saves.private or (saves.second_walk_raises and not named)
        perhaps = perhaps or saves.maybe_raises
        if MAYBE in needs and YES not in needs:
            perhaps = True
    return list(kept.values()), private, perhaps


def _resolve(
    what: str, name: str, group: list[Tensor], needs: list[Tri], tensors: Mapping[str, list[Tensor]]
) -> list[Tensor | int]:
    """The tensors or the output that a saved name means."""
    if what.startswith("out") and what[3:].isdigit():
        return [int(what[3:])]
    if what.endswith("[=]"):
        return [t for t, n in zip(group, needs, strict=True) if n is not NO] if what[:-3] == name else []
    if what.endswith("[]"):
        base = what[:-2]
        others = tensors.get(base, [])
        if base == name:
            # The others of the element that needs grad: all of them, once two need it.
            wanting = [i for i, n in enumerate(needs) if n is not NO]
            return [t for i, t in enumerate(others) if any(i != w for w in wanting)]
        return list(others)
    return list(tensors.get(what, []))


# Of a tensor that is split into many parts so many are made.
MOST_VIEWS = 12


def multi_view(machine: Machine, name: str, tensor: Tensor, bound: Mapping[str, object]) -> Value:
    """`chunk`, `split`, `unbind` and their kin: views made together."""
    short = name.rpartition(".")[2]
    dim = bound.get("dim", 0)
    at = dim % len(tensor.shape) if isinstance(dim, int) and tensor.shape else None
    size = tensor.shape[at] if at is not None and tensor.shape else None
    count: int | None = None
    sizes: list[int | None] = []
    if short == "unbind":
        count = size
    elif short == "chunk":
        chunks = bound.get("chunks")
        count = chunks if isinstance(chunks, int) else None
        if count and size:
            each = -(-size // count)
            count = -(-size // each)
            sizes = [min(each, size - i * each) for i in range(min(count, MOST_VIEWS))]
    else:
        wanted = next(
            (bound[k] for k in ("split_size_or_sections", "split_size", "indices_or_sections") if k in bound), None
        )
        if isinstance(wanted, (list, tuple)):
            count = len(wanted)
            sizes = [w if isinstance(w, int) else None for w in wanted]
        elif isinstance(wanted, int) and wanted > 0 and short == "split" and size is not None:
            count = max(1, -(-size // wanted))
            sizes = [min(wanted, size - i * wanted) for i in range(min(count, MOST_VIEWS))]
        elif isinstance(wanted, int):
            count = wanted if short != "split" else None
    count = min(count if count is not None else 3, MOST_VIEWS)
    layout = strides.of(tensor)
    if layout is not None and at is not None and short == "unbind":
        layout = (*layout[:at], *layout[at + 1 :])
    results: list[Value] = []
    for index in range(count):
        shape: Shape | None = None
        if tensor.shape is not None and at is not None:
            if short == "unbind":
                shape = (*tensor.shape[:at], *tensor.shape[at + 1 :])
            else:
                shape = (*tensor.shape[:at], sizes[index] if index < len(sizes) else None, *tensor.shape[at + 1 :])
        results.append(
            machine.view(tensor, short, shape, kind="multi", contiguous=None if dim == 0 else False, layout=layout)
        )
    return tuple(results)


def untabled(machine: Machine, name: str, values: Sequence[Value]) -> Value:
    """An op that the table lacks: differentiable as far as anyone knows, and saving what we cannot say."""
    tensors = [t for v in values if isinstance(t := machine.as_tensor(v), Tensor)]
    for value in values:
        if isinstance(value, (ListValue, tuple)):
            parts = value.items if isinstance(value, ListValue) else value
            tensors += [v for v in parts if isinstance(v, Tensor)]
    if not tensors:
        return Unknown()
    derived = row_from_formulas(name)
    if derived is not None and derived.nondifferentiable:
        return machine.constant(name, tensors)
    made = machine.record(
        name, tensors, [(t, False) for t in tensors], private=False, perhaps=True, dtype=tensors[0].dtype, sure=False
    )
    return made[0]


def row_from_formulas(name: str) -> OpRow | None:
    """The row that an installed torch gives for an op that was not measured."""
    derivatives = installed()
    return None if derivatives is None else derivatives.lookup(name)


def _number_term(machine: Machine, name: str, number: Value) -> tuple[Tensor, ...]:
    """What stands for a number that was a tensor of the graph, where it is added to a loss."""
    cut = number.cut if isinstance(number, Unknown) and name in ("add", "sub") else None
    if cut is None or not any(t.needs is YES and t.node is not None and "max" not in t.node.op for t in cut.lost):
        return ()
    term = machine.tensor(())
    term.cuts = (cut,)
    return (term,)


def arithmetic(machine: Machine, name: str, left: Value, right: Value) -> Value:
    """An operator with at least one tensor."""
    result = _arithmetic(machine, name, left, right)
    number = right if isinstance(left, Tensor) else left
    if type(number) is Unknown and isinstance(result, Tensor):
        if number.cut is not None:
            _cut_by_number(result, number.cut)
        elif result.needs is NO and _may_have_graph(number):
            result.origin = "unknown"
    return result


def _arithmetic(machine: Machine, name: str, left: Value, right: Value) -> Value:
    tensors = [v for v in (left, right) if isinstance(v, Tensor)]
    if name in (
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "floor_divide",
    ):
        return machine.constant(name, tensors, broadcast(tensors[0].shape, tensors[-1].shape), tensors[0].dtype)
    if isinstance(left, (ListValue, DictValue, tuple, External)) or isinstance(
        right, ListValue | DictValue | tuple | External
    ):
        return Unknown()
    if not isinstance(left, Tensor):
        swapped = {"sub": "rsub", "div": "reciprocal", "pow": "pow"}
        if (
            isinstance(left, Unknown)
            and not left.number
            and (stand_in := machine.as_tensor(left)) is not None
            and (machine.needs_grad(stand_in) is not NO or not left.data)
        ):
            left = stand_in
        if not isinstance(left, Tensor):
            assert isinstance(right, Tensor)
            if name in ("add", "mul", "sub"):
                result = operate(machine, "add" if name == "sub" else name, [right, left], shape=right.shape)
            elif name in swapped:
                result = operate(machine, swapped[name], [left, right] if name == "pow" else [right], shape=right.shape)
            else:
                result = operate(machine, name, [left, right])
            if isinstance(result, Tensor) and name in ("add", "sub", "mul", "div"):
                result.terms = (right, *_number_term(machine, name, left)) if name != "div" else ()
            return result
    result = operate(machine, name, [left, right])
    if isinstance(result, Tensor):
        if name in ("add", "sub"):
            terms = [v for v in (left, right) if isinstance(v, Tensor)]
            result.terms = (*terms, *_number_term(machine, name, right))
        elif name in ("mul", "div") and not isinstance(right, Tensor):
            result.terms = (left,) if isinstance(left, Tensor) else ()
    return result
