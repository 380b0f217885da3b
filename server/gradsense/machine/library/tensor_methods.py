"""Methods of tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradsense.machine.events import DeepcopyOfGraph, HookRefused, NumpyOfGraph, UselessMutation, ViewWritten
from gradsense.machine.graph import Cut, Store, Tensor
from gradsense.machine.library import autograd_api, factories, in_place, ops
from gradsense.machine.library.arguments import argument
from gradsense.machine.ops.table import table
from gradsense.machine.place import Place
from gradsense.machine.tri import MAYBE, NO, YES
from gradsense.machine.values import Function, ListValue, Unknown, Value, a_number, number_from

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

FACTS = frozenset(
    """size dim ndimension numel nelement stride element_size data_ptr storage_offset get_device __len__ is_contiguous
    is_floating_point is_complex is_same_size is_nonzero is_set_to untyped_storage storage is_signed is_pinned is_shared
    is_inference has_names const_data_ptr""".split()
)
CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
}
SAME_TENSOR = frozenset("cpu pin_memory share_memory_ npu xpu mps to_device rename align_to".split())
RESIZED = frozenset("squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_".split())


def call(
    machine: Machine,
    tensor: Tensor,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """`tensor.name(…)`."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(machine, tensor, arguments, keywords)
    if name in FACTS:
        return _fact(tensor, name, arguments)
    if name in CASTS:
        return cast(machine, tensor, CASTS[name])
    if name in SAME_TENSOR:
        return tensor
    if name.startswith("new_"):
        return factories.make(machine, name[4:] if name[4:] in factories.NAMES else "empty", arguments, keywords)
    if name in RESIZED:
        return _resized(machine, tensor, name[:-1], arguments, keywords)
    if name.endswith("_") and not name.startswith("_"):
        return in_place.write(machine, tensor, name[:-1], arguments, keywords)
    if name.startswith("__") and name.endswith("__"):
        return _dunder(machine, tensor, name, arguments)
    if "out" in keywords:
        return autograd_api.write_out(machine, [tensor, *arguments], keywords)
    if name in ("add", "sub", "mul", "div") and arguments and not keywords and not isinstance(arguments[0], ListValue):
        return ops.arithmetic(machine, name, tensor, arguments[0])
    if table().canonical(name) is not None:
        return ops.operate(machine, name, [tensor, *arguments], keywords)
    if table().canonical(f"nn.functional.{name}") is not None:
        return ops.operate(machine, f"nn.functional.{name}", [tensor, *arguments], keywords)
    return ops.untabled(machine, name, [tensor, *arguments, *keywords.values()])


def _resized(machine: Machine, tensor: Tensor, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Tensor:
    """`x.t_()`, `x.squeeze_()`: another look at the same memory, which torch counts as a write."""
    shaped = ops.operate(machine, name, [tensor, *arguments], keywords)
    in_place.write(machine, tensor, "fill")
    if isinstance(shaped, Tensor):
        tensor.shape, tensor.strides, tensor.contiguous = shaped.shape, shaped.strides, shaped.contiguous
    return tensor


def _fact(tensor: Tensor, name: str, arguments: list[Value]) -> Value:
    shape = tensor.shape
    first = arguments[0] if arguments else None
    if name == "size" and shape is not None:
        if isinstance(first, int) and not isinstance(first, bool) and -len(shape) <= first < len(shape):
            size = shape[first]
            return a_number() if size is None else size
        if first is None:
            return tuple(a_number() if size is None else size for size in shape)
    if name in ("dim", "ndimension") and shape is not None:
        return len(shape)
    if name in ("numel", "nelement") and tensor.number_of_elements is not None:
        return tensor.number_of_elements
    if name == "__len__" and shape and shape[0] is not None:
        return shape[0]
    if name == "is_floating_point" and tensor.dtype is not None:
        return tensor.floating
    if name == "is_inference" and tensor.origin == "known":
        return tensor.inference_from is not None
    return a_number()


def cast(machine: Machine, tensor: Tensor, dtype: str | None) -> Tensor:
    """A tensor of another dtype: itself where it has that dtype already."""
    if dtype is None or tensor.dtype == dtype:
        return tensor
    if not dtype.startswith(("float", "bfloat", "complex")):
        return machine.constant(dtype, [tensor], tensor.shape, dtype)
    if not tensor.floating:
        made = machine.tensor(tensor.shape, dtype)
        made.cuts = tensor.cuts
        made.origin = tensor.origin
        return made
    if tensor.dtype is None and machine.needs_grad(tensor) is NO:
        # It may be the same tensor or a copy: an alias in what we predict, never in what we are sure of.
        return tensor
    return machine.record("to", [tensor], shape=tensor.shape, dtype=dtype)[0]


def to(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`x.to(device or dtype or tensor)`."""
    result = tensor
    for value in (*arguments, *keywords.values()):
        dtype = factories.dtype_name(value)
        if dtype is not None:
            result = cast(machine, result, dtype)
        elif isinstance(value, str):
            result = to_device(machine, result, value)
        elif isinstance(value, Tensor):
            result = cast(machine, result, value.dtype)
    if keywords.get("copy") is True and result is tensor:
        result = machine.record("to", [tensor], shape=tensor.shape, dtype=tensor.dtype)[0]
    return result


def to_device(machine: Machine, tensor: Tensor, device: str) -> Tensor:
    """A copy on a device that the tensor is surely not on; itself else."""
    wanted = device.partition(":")[0]
    if (
        wanted == "cuda"
        and tensor.device != "cuda"
        and tensor.leaf
        and machine.needs_grad(tensor) is YES
        and not tensor.parameter
    ):
        made = machine.record("to", [tensor], shape=tensor.shape, dtype=tensor.dtype)[0]
        made.device = "cuda"
        return made
    if tensor.device is None and wanted == "cuda" and machine.needs_grad(tensor) is NO:
        tensor.device = "cuda"
    return tensor


def _cuda(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return to_device(machine, tensor, "cuda")


def _backward(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return autograd_api.backward(machine, [tensor], arguments, keywords, method=True)


def _detach(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return machine.detached(tensor)


def _detach_in_place(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if tensor.base is not None and tensor.base.origin == "known" and not tensor.base.phantom:
        machine.report(ViewWritten(place=machine.here(), tensor=tensor, why="detach"))
    if machine.needs_grad(tensor) is not NO:
        tensor.cuts = (*tensor.cuts, Cut("detach_", machine.here()))[-6:]
    tensor.detached_by = machine.mark_detached()
    tensor.node = None
    tensor.needs = NO
    tensor.leaf = True
    tensor.base = None
    return tensor


def _item(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    machine.note_sync(tensor)
    return number_from(tensor, "item", machine.here())


def _numpy(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if keywords.get("force") is not True:
        check_numpy(machine, tensor, None)
    result = Unknown(data=True, name="numpy", sources=(tensor,))
    result.alias = tensor
    result.cut = Cut("numpy", machine.here(), (tensor,))
    return result


def check_numpy(machine: Machine, tensor: Tensor, holder: Place | None) -> None:
    """`numpy()` of a tensor that needs grad raises where grad mode is on.

    Args:
        holder: where the tensor was put, if it came out of a container.

    Raises:
        PathEnds: if it surely raises.
    """
    needs = machine.needs_grad(tensor)
    if needs is NO or tensor.origin == "unknown" or machine.grad_mode is NO or machine.inference:
        return
    if needs is MAYBE and tensor.leaf:
        # What says whether it requires grad says where it is read as well: `if not training`.
        return
    sure = needs is YES and machine.grad_mode is YES
    event = NumpyOfGraph(place=machine.here(), sure=sure, tensor=tensor, spot=holder or machine.here())
    event.also = [(s.place, "stored here") for s in tensor.stores[-3:]] + [(tensor.made, "made here")]
    machine.report(event)


def _requires_grad(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    given = argument(arguments, keywords, 0, "requires_grad", True)
    machine.set_requires_grad(tensor, machine.truth(given))
    return tensor


def _retain_grad(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    _wants_grad(machine, tensor, "retain_grad")
    tensor.retains_grad = True
    return None


def _register_hook(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    _wants_grad(machine, tensor, "hook")
    machine.note_hook(tensor)
    hook = argument(arguments, keywords, 0, "hook")
    if isinstance(hook, Function) and isinstance(hook.node, ast.FunctionDef) and hook.node.args.args:
        for statement in _idle(hook.node):
            what = f"`{hook.name}` returns nothing, so this changes no gradient"
            place = Place(hook.source, statement)
            machine.report(UselessMutation(place=place, what=what, instead=f"return {ast.unparse(statement.value)}"))
    return Unknown(data=True, name="handle")


def _idle(hook: ast.FunctionDef) -> list[ast.Expr | ast.Assign]:
    """The last statement of a hook that does nothing but compute another gradient, and does not return it."""
    given = hook.args.args[-1].arg
    body = [s for s in hook.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    idle = [s for s in body if isinstance(s, (ast.Expr, ast.Assign)) and isinstance(s.value, ast.BinOp)]
    named = [t for s in idle if isinstance(s, ast.Assign) for t in s.targets]
    if len(idle) < len(body) or not all(isinstance(t, ast.Name) for t in named):
        return []
    last = idle[-1:]
    uses = any(isinstance(part, ast.Name) and part.id == given for s in last for part in ast.walk(s.value))
    return last if uses else []


def _wants_grad(machine: Machine, tensor: Tensor, how: str) -> None:
    """torch refuses hooks where no gradient can come.

    Raises:
        PathEnds: if that surely raises.
    """
    if machine.needs_grad(tensor) is NO and tensor.origin == "known" and not tensor.phantom:
        machine.report(HookRefused(place=machine.here(), tensor=tensor, how=how))


def _nothing(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return None


def _clone(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = machine.record("clone", [tensor], shape=tensor.shape, dtype=tensor.dtype)[0]
    made.terms = (tensor,)
    return made


def _contiguous(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if tensor.contiguous and not keywords:
        return tensor
    return machine.record("clone", [tensor], shape=tensor.shape, dtype=tensor.dtype)[0]


def _tolist(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    numbers = ListValue([number_from(tensor, "tolist", machine.here())])
    numbers.homogeneous = True
    return numbers


def _type(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    if not arguments and not keywords:
        return a_number()
    return to(machine, tensor, arguments, keywords)


def _view(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`x.view(sizes)`; only a dtype that is written as one makes it the other kind of view."""
    if len(arguments) == 1 and factories.dtype_name(arguments[0]) is None:
        sizes = arguments[0]
        given = tuple(sizes.items) if isinstance(sizes, ListValue) else sizes if isinstance(sizes, tuple) else (sizes,)
        return ops.operate(machine, "view", [tensor], {"size": given})
    return ops.operate(machine, "view", [tensor, *arguments], keywords)


def _zero_method(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    owner = tensor.gradient_of
    if owner is not None:
        # `p.grad.zero_()` empties the gradient and leaves its tensor, with its graph if it has one; so does
        # `p.grad.data.zero_()`.
        held = owner.gradient
        machine.zero_gradients([owner], keep=True)
        if held is not None and machine.graph_of(held) is not None and owner.gradient is not None:
            if tensor is held:
                in_place.write(machine, tensor, "zero")
            owner.gradient = held
            return tensor
        machine.mark_write(tensor)
        return tensor
    return in_place.write(machine, tensor, "zero")


def _apply(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return tensor


def _set_in_place(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return tensor


def _deepcopy(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return deepcopy(machine, tensor)


def deepcopy(machine: Machine, tensor: Tensor, store: Store | None = None, hooked: Place | None = None) -> Tensor:
    """`copy.deepcopy(tensor)`, which torch allows for leaves only.

    Args:
        store: the attribute that held it, of an object that is copied.
        hooked: the call that has a hook compute it for that object.

    Raises:
        PathEnds: if it surely raises.
    """
    needs = machine.needs_grad(tensor)
    if not tensor.leaf and needs is not NO and tensor.origin == "known":
        spot = hooked or (store.place if store is not None else machine.here())
        event = DeepcopyOfGraph(place=machine.here(), sure=needs is YES, tensor=tensor, spot=spot, store=store)
        event.also = [(tensor.made, "made here")]
        machine.report(event)
    made = machine.tensor(tensor.shape, tensor.dtype, needs if tensor.leaf else MAYBE)
    made.parameter = tensor.parameter
    return made


def _dunder(machine: Machine, tensor: Tensor, name: str, arguments: list[Value]) -> Value:
    if name in ("__array__",):
        return _numpy(machine, tensor, arguments, {})
    if name == "__getitem__" and arguments:
        return machine.get_item(tensor, arguments[0])
    if name == "__setitem__" and len(arguments) > 1:
        machine.set_item(tensor, arguments[0], arguments[1])
        return None
    return Unknown()


def _split_sizes(machine: Machine, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    return ops.operate(machine, "split", [tensor, *arguments], keywords)


_Method = Callable[["Machine", Tensor, list[Value], dict[str, Value]], Value]
_SPECIAL: dict[str, _Method] = {
    "backward": _backward,
    "detach": _detach,
    "detach_": _detach_in_place,
    "item": _item,
    "numpy": _numpy,
    "requires_grad_": _requires_grad,
    "retain_grad": _retain_grad,
    "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _register_hook,
    "record_stream": _nothing,
    "clone": _clone,
    "contiguous": _contiguous,
    "tolist": _tolist,
    "to": to,
    "type": _type,
    "type_as": to,
    "cuda": _cuda,
    "zero_": _zero_method,
    "apply_": _apply,
    "map_": _apply,
    "set_": _set_in_place,
    "resize_": _set_in_place,
    "__deepcopy__": _deepcopy,
    "split_with_sizes": _split_sizes,
    "view": _view,
}
