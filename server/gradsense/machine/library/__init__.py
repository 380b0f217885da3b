"""What libraries do, as far as gradients can tell: torch first, and the Python that training code is written in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import (
    autograd_api,
    builtin,
    containers,
    custom_function,
    distributions,
    factories,
    frameworks,
    grad_mode,
    in_place,
    module_methods,
    nn,
    ops,
    optim,
    parametrizations,
    stdlib,
    tensor_methods,
    torch_functions,
    unknown,
)
from gradsense.machine.values import (
    ClassValue,
    ContextValue,
    DictValue,
    Distribution,
    External,
    GeneratorValue,
    GradFn,
    GradMode,
    Instance,
    ListValue,
    Optimizer,
    SuperProxy,
    Unknown,
    Value,
    a_number,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def call_external(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calls something of a library by its full dotted name."""
    if name.startswith("builtins."):
        return builtin.call(machine, name[9:], arguments, keywords, node)
    if name.startswith("torch."):
        return torch_functions.call(machine, name[6:], arguments, keywords, node)
    framework = frameworks.call(machine, name, arguments, keywords, node)
    if framework is not None:
        return framework[0]
    return stdlib.call(machine, name, arguments, keywords, node)


def call_method(
    machine: Machine,
    receiver: Value,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """Calls a method of a value whose class the program does not define."""
    if isinstance(receiver, Tensor):
        return tensor_methods.call(machine, receiver, name, arguments, keywords, node)
    if isinstance(receiver, ListValue):
        return containers.list_method(machine, receiver, name, arguments, node)
    if isinstance(receiver, DictValue):
        return containers.dict_method(machine, receiver, name, arguments, keywords)
    if isinstance(receiver, str):
        return containers.string_method(receiver, name, arguments, keywords)
    if isinstance(receiver, Optimizer):
        return optim.method(machine, receiver, name, arguments, keywords, node)
    if isinstance(receiver, Instance):
        if isinstance(receiver.children, DictValue) and not receiver.is_module and name in containers.DICT_METHODS:
            return containers.dict_method(machine, receiver.children, name, arguments, keywords)
        if receiver.kind == "NamedTuple" and name in ("_replace", "_asdict"):
            return stdlib.call(machine, f"dataclasses.{name[1:]}", [receiver], keywords, node)
        return module_methods.call(machine, receiver, name, arguments, keywords, node)
    if isinstance(receiver, Distribution):
        return distributions.method(machine, receiver, name, arguments, keywords)
    if isinstance(receiver, SuperProxy):
        return module_methods.super_method(machine, receiver, name, arguments, keywords, node)
    if isinstance(receiver, ClassValue):
        if name == "apply" and "torch.autograd.Function" in receiver.library_bases():
            return custom_function.apply(machine, receiver, arguments, keywords, node)
        if name == "mro":
            return ListValue(receiver.linear())
        return unknown.call_unknown(machine, Unknown(name=name), arguments, keywords, node)
    if isinstance(receiver, GradFn):
        return Unknown(data=True)
    if isinstance(receiver, (tuple, int, float)):
        return containers.tuple_method(receiver, name, keywords)
    if isinstance(receiver, GeneratorValue) and name in ("send", "__next__"):
        return builtin.call(machine, "next", [receiver], {}, node)
    if isinstance(receiver, ContextValue):
        return receiver.value if name == "__enter__" else a_number()
    if isinstance(receiver, GradMode):
        return grad_mode.by_hand(machine, receiver, name)
    return unknown.call_unknown(machine, Unknown(name=name, owner=receiver), arguments, keywords, node)


def call_kind(
    machine: Machine, instance: Instance, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """Calls an object of a library class that is no module."""
    return unknown.call_unknown(machine, Unknown(name=instance.kind), arguments, keywords, node)


__all__ = [
    "External",
    "autograd_api",
    "builtin",
    "call_external",
    "call_kind",
    "call_method",
    "containers",
    "custom_function",
    "distributions",
    "factories",
    "frameworks",
    "grad_mode",
    "in_place",
    "module_methods",
    "nn",
    "ops",
    "optim",
    "parametrizations",
    "stdlib",
    "tensor_methods",
    "torch_functions",
    "unknown",
]
