"""Parameters that are computed each time they are read: `torch.nn.utils.parametrize` and what is built on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import ops
from gradsense.machine.values import Instance, ListValue, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

OPTION = "parametrized"
"""The option of a module that lists what computes its tensors, by their names."""


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
