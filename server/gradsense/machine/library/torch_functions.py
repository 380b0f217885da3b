"""`torch.<name>(…)`: ops go to the table; the rest is here."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gradsense.machine.events import ReduceWithGraph
from gradsense.machine.graph import Saved, Tensor
from gradsense.machine.graph_search import reachable
from gradsense.machine.library import (
    autograd_api,
    distributions,
    factories,
    grad_mode,
    in_place,
    module_methods,
    nn,
    ops,
    optim,
    parametrizations,
    tensor_methods,
    unknown,
)
from gradsense.machine.library.arguments import argument
from gradsense.machine.ops.table import table
from gradsense.machine.shapes import einsum
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import (
    BoundMethod,
    ClassValue,
    ContextValue,
    DictValue,
    Function,
    Instance,
    ListValue,
    Unknown,
    Value,
    a_number,
    tensors_in,
)
from gradsense.machine.walking import REENTRANT

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

Call = Callable[["Machine", list[Value], dict[str, Value], ast.AST | None], Value]

NUMBERS = frozenset(
    """manual_seed seed set_num_threads set_printoptions save Generator set_default_dtype
    set_default_tensor_type get_rng_state set_rng_state set_float32_matmul_precision
    use_deterministic_algorithms finfo iinfo Size dtype set_default_device initial_seed get_num_threads
    is_storage numel is_floating_point is_complex is_nonzero get_default_dtype can_cast promote_types
    result_type are_deterministic_algorithms_enabled equal allclose""".split()
)
QUIET_PACKAGES = frozenset(
    """cuda backends multiprocessing jit onnx hub profiler version random amp compiler _dynamo mps ops
    quantization ao fx library xpu testing _C overrides futures package sparse export monitor
    serialization accelerator cpu""".split()
)
ACTIVATIONS = frozenset(
    "relu elu leaky_relu selu celu silu mish hardtanh relu6 hardswish hardsigmoid rrelu threshold".split()
)
DROPOUTS = frozenset("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split())


def call(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calls `torch.<name>`."""
    parts = name.split(".")
    first, last = parts[0], parts[-1]
    package = _PACKAGES.get(first)
    if package is not None and len(parts) > 1:
        return package(machine, name, arguments, keywords, node)
    if first in QUIET_PACKAGES and len(parts) > 1:
        return _quiet(machine, first, last, arguments, keywords, node)
    if first == "Tensor" and len(parts) == 2 and arguments and isinstance(arguments[0], Tensor):
        return tensor_methods.call(machine, arguments[0], last, arguments[1:], keywords, node)
    special = _FUNCTIONS.get(last) if len(parts) == 1 else None
    if special is not None:
        return special(machine, arguments, keywords, node)
    if last in ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"):
        return grad_mode.make(machine, last, arguments, node)
    if last in factories.NAMES and len(parts) == 1:
        return factories.make(machine, last, arguments, keywords)
    if last in NUMBERS:
        return a_number()
    return function(machine, name, arguments, keywords, node)


def function(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """An op as a function: `torch.exp(x)`, `F.relu(x)`, `torch.linalg.svd(x)`."""
    if keywords.get("out") is not None:
        return autograd_api.write_out(machine, arguments, keywords)
    last = name.rpartition(".")[2]
    target = argument(arguments, keywords, 0, "input")
    if last.endswith("_") and not last.startswith("_") and isinstance(target, Tensor):
        rest = arguments[1:] if arguments else []
        others = {k: v for k, v in keywords.items() if k != "input"}
        if last[:-1] in ACTIVATIONS:
            return in_place.write(machine, target, last[:-1], rest, others, kind="activation")
        return tensor_methods.call(machine, target, last, rest, others, node)
    if last in DROPOUTS:
        return dropout(machine, arguments, keywords)
    if last in ACTIVATIONS:
        return activation(machine, last, arguments, keywords)
    if last == "multi_head_attention_forward":
        return (nn.black_box(machine, "attention", tensors_in(tuple(arguments) + tuple(keywords.values()))), Unknown())
    if _is_call_on_unknown(arguments, keywords):
        return unknown.call_unknown(machine, Unknown(name=last), arguments, keywords, node)
    if table().canonical(name) is None and table().canonical(f"nn.functional.{last}") is not None:
        name = f"nn.functional.{last}"
    if last == "embedding":
        _max_norm(machine, arguments, keywords)
    return ops.operate(machine, name, arguments, keywords)


def _is_call_on_unknown(arguments: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether the only operands are unknown: then the result is an unknown with a site of its own."""
    values = [*arguments, *keywords.values()]
    return any(isinstance(v, Unknown) and not v.number for v in values) and not any(tensors_in(v) for v in values)


def _max_norm(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> None:
    weight = argument(arguments, keywords, 1, "weight")
    limit = argument(arguments, keywords, 3, "max_norm")
    if isinstance(weight, Tensor) and limit is not None and not isinstance(limit, Unknown):
        machine.mark_write(weight, "max_norm")


def dropout(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`F.dropout(x, p, training, inplace)`."""
    value = argument(arguments, keywords, 0, "input")
    p = argument(arguments, keywords, 1, "p", 0.5)
    training = argument(arguments, keywords, 2, "training", True)
    written = argument(arguments, keywords, 3, "inplace", False) is True
    tensor = machine.as_tensor(value)
    if tensor is None:
        return value
    return nn.apply_dropout(machine, tensor, p, machine.truth(training), written)


def activation(machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`F.relu(x, inplace=…)` and its kin."""
    written = keywords.get("inplace")
    if name == "relu" and len(arguments) > 1:
        written = arguments[1]
    value = argument(arguments, keywords, 0, "input")
    tensor = machine.as_tensor(value)
    if tensor is None:
        return Unknown()
    if written is True:
        return in_place.write(machine, tensor, "hardtanh" if name == "relu6" else name, kind="activation")
    rest = {k: v for k, v in keywords.items() if k not in ("input", "inplace")}
    return ops.operate(machine, f"nn.functional.{name}", [tensor, *arguments[1:]], rest, shape=tensor.shape)


# ---------------------------------------------------------------------- packages


def _nn(machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    parts = name.split(".")
    last = parts[-1]
    if parts[1] == "functional":
        return function(machine, name, arguments, keywords, node)
    if parts[1] == "init":
        return _init(machine, arguments, keywords)
    if parts[1] == "utils":
        return _nn_utils(machine, name, arguments, keywords, node)
    if last in ("Parameter", "Buffer", "UninitializedParameter"):
        return nn.make_parameter(machine, last, arguments, keywords)
    if last in ("DataParallel", "DistributedDataParallel"):
        return argument(arguments, keywords, 0, "module")
    if last[:1].isupper():
        return nn.make(machine, last, arguments, keywords, node)
    return Unknown(name=last)


def _init(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Initialisers write under `no_grad`."""
    tensor = argument(arguments, keywords, 0, "tensor")
    if isinstance(tensor, Tensor):
        machine.mark_write(tensor, "init")
    return tensor


def _nn_utils(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    last = name.rpartition(".")[2]
    first = arguments[0] if arguments else None
    if last == "register_parametrization" or name.startswith("nn.utils.parametrizations."):
        return parametrizations.register(machine, last, arguments, keywords)
    if last in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "get_total_norm"):
        if last != "get_total_norm":
            bound = argument(arguments, keywords, 1, "clip_value" if last == "clip_grad_value_" else "max_norm")
            optim.clip(machine, first, bound)
        return machine.tensor(())
    if last == "parameters_to_vector":
        tensors = optim.parameters_of(machine, first)[0]
        return machine.record("cat", tensors)[0] if tensors else Unknown()
    if last == "vector_to_parameters":
        return None
    if last in ("spectral_norm", "weight_norm"):
        return parametrizations.by_hook(machine, last, arguments, keywords)
    if last in ("remove_weight_norm", "remove_spectral_norm"):
        return parametrizations.without_hook(arguments, keywords)
    if last == "data_parallel":
        return first
    if last in ("pack_padded_sequence", "pad_packed_sequence", "pack_sequence", "pad_sequence"):
        tensors = tensors_in(first)
        if not tensors:
            return unknown.call_unknown(machine, Unknown(name=last), arguments, keywords, node)
        made = machine.record(last, tensors, private=last != "pad_sequence", dtype=tensors[0].dtype)[0]
        return (made, Unknown(data=True)) if last == "pad_packed_sequence" else made
    return Unknown(name=last)


def _utils(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    last = name.rpartition(".")[2]
    if last == "DataLoader":
        made = Instance("DataLoader", None, machine.here(node))
        made.options = {"dataset": argument(arguments, keywords, 0, "dataset"), **keywords}
        return made
    if last == "TensorDataset":
        made = Instance("TensorDataset", None, machine.here(node))
        made.options = {"tensors": tuple(arguments)}
        return made
    if last in ("Subset", "ConcatDataset"):
        return arguments[0] if last == "Subset" and arguments else Unknown(data=True)
    if last == "random_split" and arguments:
        return (arguments[0],) * 3
    if last == "checkpoint" and arguments:
        rest = {k: v for k, v in keywords.items() if k not in CHECKPOINT_OPTIONS}
        if keywords.get("use_reentrant") in (None, True):
            # torch warns where nothing is said, and takes this kind.
            return reentrant_checkpoint(machine, arguments[0], arguments[1:], rest, node)
        return checkpoint(machine, arguments[0], arguments[1:], rest, node)
    if last == "checkpoint_sequential" and len(arguments) > 2:
        value = arguments[2]
        for part in machine.items_of(arguments[0])[0]:
            value = machine.call(part, [value], {}, node)
        return value
    return Unknown(data=True, name=last)


CHECKPOINT_OPTIONS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


def checkpoint(
    machine: Machine, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """A checkpointed call: what is saved inside is made again by the walk; its inputs are saved instead."""
    before = machine.order
    inputs = tensors_in(tuple(arguments))
    versions = [Saved(t, t.storage.version, True) for t in inputs]
    result = machine.call(function, arguments, keywords, node)
    outputs = tensors_in(result)
    for made in reachable(machine.graph_of(t) for t in outputs):
        if made.order > before and made.accumulates is None:
            made.private = made.private or bool(made.saved)
            made.saved = []
    for output in outputs:
        top = machine.graph_of(output)
        if top is not None and top.order > before:
            top.saved = list(versions)
    return result


def reentrant_checkpoint(
    machine: Machine, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """The old kind of checkpoint: its result needs grad only if an input does, whatever parameters are inside."""
    inputs = tensors_in(tuple(arguments))
    known = not any(isinstance(a, Unknown) and not a.number for a in arguments)
    if inputs and known and all(machine.needs_grad(t) is NO and t.origin == "known" for t in inputs):
        mode, place = machine.grad_mode, machine.mode_place
        machine.grad_mode, machine.mode_place = NO, machine.here(node)
        try:
            result = machine.call(function, arguments, keywords, node)
        finally:
            ended, machine.grad_mode, machine.mode_place = machine.mode_place, mode, place
        for output in tensors_in(result) if mode is not NO else ():
            output.cuts = tuple(
                replace(cut, how=REENTRANT) if cut.how == "no_grad" and cut.place is ended else cut
                for cut in output.cuts
            )
        return result
    result = checkpoint(machine, function, arguments, keywords, node)
    for output in tensors_in(result):
        top = machine.graph_of(output)
        if top is not None and top.accumulates is None:
            top.op = REENTRANT
    return result


# They hand back the module that they were given, spread over devices.
MODULE_WRAPPERS = frozenset(
    """parallelize_module fully_shard FullyShardedDataParallel distribute_module replicate checkpoint_wrapper
    DistributedDataParallel""".split()
)


def _distributed(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    last = name.rpartition(".")[2]
    if last in MODULE_WRAPPERS:
        return argument(arguments, keywords, 0, "module")
    tensor = argument(arguments, keywords, 0, "tensor")
    if last in ("all_reduce", "broadcast", "reduce", "all_reduce_multigpu") and isinstance(tensor, Tensor):
        if machine.needs_grad(tensor) is YES and machine.grad_mode is YES and not tensor.leaf:
            machine.report(ReduceWithGraph(place=machine.here(), tensor=tensor))
        machine.mark_write(tensor, "reduce")
        return Unknown(data=True)
    return Unknown(data=True, number=last.startswith(("get_", "is_")))


def _quiet(
    machine: Machine,
    first: str,
    last: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    given = arguments[0] if arguments else None
    if last == "GradScaler":
        scaler = Instance("GradScaler", None, machine.here(node))
        scaler.options["enabled"] = keywords.get("enabled", True)
        return scaler
    if last == "autocast":
        on = machine.truth(keywords.get("enabled", True))
        return ContextValue("autocast" if on is not False else "plain")
    if first in ("jit", "_dynamo", "compiler", "ao", "quantization") and isinstance(
        given, Function | Instance | ClassValue | BoundMethod
    ):
        return given
    if last in ("is_available", "device_count", "memory_allocated", "current_device", "time"):
        return a_number()
    if last in (
        "profile",
        "record_function",
        "fork_rng",
        "stream",
        "device",
        "graph",
        "flags",
        "sdpa_kernel",
        "sdp_kernel",
    ):
        return ContextValue(last)
    return Unknown(data=True, name=last)


def _func(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    last = name.rpartition(".")[2]
    if last == "functional_call" and arguments and isinstance(arguments[0], Instance):
        return _functional_call(machine, arguments, keywords, node)
    return unknown.call_unknown(machine, Unknown(name=last), arguments, keywords, node)


def _functional_call(
    machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """`functional_call(module, weights, args)`: the module's own call with these tensors in place of its own."""
    module, weights = arguments[0], arguments[1] if len(arguments) > 1 else None
    inputs = argument(arguments, keywords, 2, "args", ())
    rest = keywords.get("kwargs")
    passed = list(inputs) if isinstance(inputs, tuple) else [inputs]
    named = {k: v for k, v in rest.items.items() if isinstance(k, str)} if isinstance(rest, DictValue) else {}
    assert isinstance(module, Instance)
    if not isinstance(weights, DictValue):
        return unknown.call_unknown(machine, Unknown(name="functional_call"), [weights, *passed], named, node)
    with module_methods.swapped(module, {k: v for k, v in weights.items.items() if isinstance(k, str)}):
        return machine.call(module, passed, named, node)


def _optim(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    parts = name.split(".")
    if "lr_scheduler" in parts or "swa_utils" in parts:
        return Instance("scheduler", None, machine.here(node))
    return optim.make(machine, parts[-1], arguments, keywords, node)


def _distributions(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    return distributions.make(machine, name.rpartition(".")[2], arguments, keywords)


# ---------------------------------------------------------------------- functions


def _is_grad_enabled(
    machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    return machine.grad_mode is YES


def _is_inference_mode_enabled(
    machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    return machine.inference


def _is_tensor(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    value = arguments[0] if arguments else None
    return a_number() if isinstance(value, Unknown) and not value.number else isinstance(value, Tensor)


def _load(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return Unknown(data=True, name="load")


def _compile(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    return arguments[0] if arguments else Unknown(name="compile")


def _where(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    if len(arguments) == 3 and any(isinstance(a, Tensor) for a in arguments):
        values = [machine.as_tensor(a) if isinstance(a, Unknown) and not a.number else a for a in arguments]
        return ops.operate(machine, "where", values, keywords)
    return ops.operate(machine, "where", arguments, keywords)


def _combine(op: str) -> Call:
    def combined(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        value = argument(arguments, keywords, 0, "tensors")
        if keywords.get("out") is not None:
            return autograd_api.write_out(machine, [], keywords)
        if isinstance(value, Unknown):
            return unknown.call_unknown(machine, Unknown(name=op), arguments, keywords, node)
        items = [value] if isinstance(value, Tensor) else machine.items_of(value)[0]
        tensors = [t for item in items if (t := machine.as_tensor(item)) is not None]
        dim = argument(arguments, keywords, 1, "dim", 0)
        if not tensors:
            empty = machine.tensor()
            empty.origin = "unknown"
            return empty
        result = ops.operate(machine, op, [ListValue(tensors), dim] if op in ("cat", "stack") else [ListValue(tensors)])
        if isinstance(value, ListValue) and (value.open or value.homogeneous) and isinstance(result, Tensor):
            result.shape = None
        if (
            isinstance(result, Tensor)
            and machine.needs_grad(result) is NO
            and any(t.origin == "unknown" for t in tensors)
        ):
            result.origin = "unknown"
        return result

    return combined


def _meshgrid(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    values = (
        machine.items_of(arguments[0])[0] if len(arguments) == 1 and not isinstance(arguments[0], Tensor) else arguments
    )
    return tuple(machine.view(v, "expand", None, expanded=True) if isinstance(v, Tensor) else v for v in values)


def _einsum(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    operands = arguments[1:]
    if len(operands) == 1 and isinstance(operands[0], (ListValue, tuple)):
        operands = machine.items_of(operands[0])[0]
    tensors = [t for o in operands if (t := machine.as_tensor(o)) is not None]
    if not tensors:
        return Unknown()
    equation = arguments[0] if arguments else None
    shape = einsum(equation, [t.shape for t in tensors]) if isinstance(equation, str) else None
    needs = [machine.needs_grad(t) for t in tensors]
    saved: list[tuple[Tensor | int, bool]] = [
        (t, any(n is YES for j, n in enumerate(needs) if j != i))
        for i, t in enumerate(tensors)
        if any(n is not NO for j, n in enumerate(needs) if j != i)
    ]
    return machine.record("einsum", tensors, saved, shape=shape, dtype=tensors[0].dtype)[0]


def _device(machine: Machine, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
    """`torch.device("cuda", 0)`: a text says as much, and compares alike."""
    kind = argument(arguments, keywords, 0, "type")
    if not isinstance(kind, str):
        return a_number()
    index = argument(arguments, keywords, 1, "index")
    return f"{kind}:{index}" if isinstance(index, int) else kind


_FUNCTIONS: dict[str, Call] = {
    "is_grad_enabled": _is_grad_enabled,
    "is_inference_mode_enabled": _is_inference_mode_enabled,
    "is_tensor": _is_tensor,
    "load": _load,
    "compile": _compile,
    "device": _device,
    "where": _where,
    "cat": _combine("cat"),
    "concat": _combine("cat"),
    "concatenate": _combine("cat"),
    "stack": _combine("stack"),
    "hstack": _combine("hstack"),
    "vstack": _combine("vstack"),
    "dstack": _combine("dstack"),
    "column_stack": _combine("column_stack"),
    "row_stack": _combine("vstack"),
    "meshgrid": _meshgrid,
    "broadcast_tensors": _meshgrid,
    "einsum": _einsum,
    "autocast": lambda m, a, k, n: ContextValue("autocast"),
}
_PACKAGES: dict[str, Callable[[Machine, str, list[Value], dict[str, Value], ast.AST | None], Value]] = {
    "nn": _nn,
    "optim": _optim,
    "autograd": autograd_api.call,
    "utils": _utils,
    "distributions": _distributions,
    "distributed": _distributed,
    "func": _func,
}
