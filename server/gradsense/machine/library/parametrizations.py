"""Parameters that are computed each time they are read: `torch.nn.utils.parametrize` and what is built on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import nn, ops
from gradsense.machine.place import Place
from gradsense.machine.values import Instance, ListValue, Native, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

OPTION = "parametrized"
"""The option of a module that lists what computes its tensors, by their names."""
HOOKED = "computed by a hook"
"""The option of a module that says which tensor the old kind of norm computes, and which call has it so."""
HOOKS = ("weight_norm", "spectral_norm")
ORIGINAL = "_orig"


def register(machine: Machine, last: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`register_parametrization(module, name, how)`, or `weight_norm(module, name)` and its kin.

    Args:
        last: the function's name.
    """
    module = arguments[0] if arguments else keywords.get("module")
    if not isinstance(module, Instance):
        return module
    name = arguments[1] if len(arguments) > 1 else keywords.get("tensor_name", keywords.get("name", "weight"))
    how: Value = last
    if last == "register_parametrization":
        how = arguments[2] if len(arguments) > 2 else keywords.get("parametrization")
    if isinstance(name, str) and isinstance(module.attributes.get(name), Tensor):
        known = module.options.setdefault(OPTION, {})
        assert isinstance(known, dict)
        known.setdefault(name, ListValue()).items.append(how)
    return module


def by_hook(machine: Machine, last: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """The old `weight_norm(module, name)` and `spectral_norm`: a hook computes the tensor anew before each forward.

    Between the forwards the computed tensor is an attribute of the module, and no leaf.
    """
    module = arguments[0] if arguments else keywords.get("module")
    name = arguments[1] if len(arguments) > 1 else keywords.get("name", "weight")
    own = module.attributes.get(name) if isinstance(module, Instance) and isinstance(name, str) else None
    if not isinstance(module, Instance) or not isinstance(name, str) or not isinstance(own, Tensor) or own.cuts:
        return module
    if not own.parameter or f"{name}{ORIGINAL}" in module.attributes or f"{name}_v" in module.attributes:
        return module
    # What computes it is a parameter under another name.
    del module.attributes[name]
    if last == "weight_norm":
        module.attributes[f"{name}_g"] = nn.parameter(machine)
        module.attributes[f"{name}_v"] = own
    else:
        module.attributes[f"{name}{ORIGINAL}"] = own

    def before_forward(given: list[Value], named: dict[str, Value]) -> Value:
        owner = given[0] if given else None
        if isinstance(owner, Instance):
            _compute(machine, owner, name)
        return None

    if last == "weight_norm":
        _compute(machine, module, name)
    else:
        module.attributes[name] = machine.detached(own, "data")
    module.pre_hooks.append(Native(last, before_forward))
    module.options[HOOKED] = name, machine.here()
    return module


def without_hook(arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`remove_weight_norm(module)`: the tensor is a parameter again."""
    module = arguments[0] if arguments else keywords.get("module")
    hooked = module.options.pop(HOOKED, None) if isinstance(module, Instance) else None
    if isinstance(module, Instance) and isinstance(hooked, tuple):
        name = str(hooked[0])
        own = module.attributes.pop(f"{name}_v", None) or module.attributes.pop(f"{name}{ORIGINAL}", None)
        module.attributes.pop(f"{name}_g", None)
        module.attributes[name] = own
        module.pre_hooks = [h for h in module.pre_hooks if not (isinstance(h, Native) and h.name in HOOKS)]
    return module


def hooked_at(module: Instance, name: str) -> Place | None:
    """The call that has a tensor of the module computed by a hook."""
    hooked = module.options.get(HOOKED)
    place = hooked[1] if isinstance(hooked, tuple) and hooked[0] == name else None
    return place if isinstance(place, Place) else None


def _compute(machine: Machine, module: Instance, name: str) -> None:
    direction = module.attributes.get(f"{name}_v")
    own = direction if isinstance(direction, Tensor) else module.attributes.get(f"{name}{ORIGINAL}")
    length = module.attributes.get(f"{name}_g")
    if not isinstance(own, Tensor):
        return
    value = ops.operate(machine, "div", [own, ops.operate(machine, "linalg.vector_norm", [own])])
    if isinstance(length, Tensor):
        value = ops.operate(machine, "mul", [value, length])
    if isinstance(value, Tensor):
        value.shape = own.shape
    module.attributes[name] = value


def computed(machine: Machine, module: Instance, name: str, node: ast.AST | None = None) -> Value:
    """What a module's tensor is when it is read."""
    value = module.attributes[name]
    known = module.options.get(OPTION)
    if not isinstance(known, dict) or name not in known:
        return value
    for how in known[name].items:
        if isinstance(how, Instance):
            value = machine.call_instance(how, [value], {}, node)
        elif isinstance(value, Tensor):
            shape = value.shape
            value = ops.operate(machine, "div", [value, ops.operate(machine, "linalg.vector_norm", [value])])
            if isinstance(value, Tensor):
                value.shape = shape
    return value


@contextmanager
def computed_in(machine: Machine, module: Instance, node: ast.AST | None) -> Iterator[None]:
    """Puts what is computed in the place of a layer's own tensors, for its forward."""
    known = module.options.get(OPTION)
    own = {name: module.attributes[name] for name in known} if isinstance(known, dict) else {}
    try:
        for name in own:
            module.attributes[name] = computed(machine, module, name, node)
        yield
    finally:
        module.attributes.update(own)
