"""Methods of `nn.Module` and of other objects whose class is a library's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradsense.machine.graph import Cut, Tensor
from gradsense.machine.library import containers, distributions, frameworks, nn, optim, unknown
from gradsense.machine.library.arguments import argument
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import (
    ITERATOR,
    DictValue,
    Function,
    Instance,
    ListValue,
    SuperProxy,
    Unknown,
    Value,
    a_number,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

PLACING = frozenset(
    "to cuda cpu float half double bfloat16 share_memory type compile to_empty requires_grad_ npu xpu".split()
)
QUIET = frozenset(
    """flatten_parameters extra_repr log log_dict print save_hyperparameters reset_parameters
    register_state_dict_pre_hook""".split()
)


def _walk(module: Value, prefix: str, seen: set[int]) -> Iterator[tuple[str, Instance]]:
    """A module and all below it, with their dotted names."""
    if not isinstance(module, Instance) or id(module) in seen:
        return
    seen.add(id(module))
    yield prefix, module
    for name, value in _members(module):
        if isinstance(value, Instance) and value.is_module:
            yield from _walk(value, f"{prefix}.{name}" if prefix else name, seen)


def _members(module: Instance) -> list[tuple[str, Value]]:
    members: list[tuple[str, Value]] = list(module.attributes.items())
    if isinstance(module.children, DictValue):
        members += [(str(k), v) for k, v in module.children.items.items()]
    elif isinstance(module.children, ListValue):
        names = {id(v): k for k, v in module.child_names.items()}
        members += [(names.get(id(v), str(i)), v) for i, v in enumerate(module.children.items)]
    return members


def tensors(module: Instance, *, buffers: bool = False) -> list[tuple[str, Tensor]]:
    """A module's parameters, or all its tensors with its buffers, by dotted name, each once."""
    found: list[tuple[str, Tensor]] = []
    seen: set[int] = set()
    for prefix, part in _walk(module, "", set()):
        for name, value in _members(part):
            if isinstance(value, Tensor) and id(value) not in seen and (buffers or value.parameter):
                seen.add(id(value))
                found.append((f"{prefix}.{name}" if prefix else name, value))
    return found


def parameters(machine: Machine, module: Instance) -> tuple[list[tuple[str, Tensor]], bool]:
    """A module's parameters, and whether these are all of them."""
    found = tensors(module)
    complete = True
    for _, part in _walk(module, "", set()):
        if part.opaque:
            complete = False
        for _, value in _members(part):
            if isinstance(value, Unknown) and not value.data:
                complete = False
    if not complete:
        found.append(("", phantom_of(machine, module)))
    return found, complete


def phantom_of(machine: Machine, module: Instance) -> Tensor:
    """The leaf that stands for the parameters of a module that we cannot see."""
    known = module.options.get("phantom")
    if isinstance(known, Tensor):
        return known
    made = unknown.make_phantom(machine)
    module.options["phantom"] = made
    return made


def children(module: Instance, *, deep: bool) -> list[tuple[str, Instance]]:
    """The modules below, all of them or only the nearest."""
    if deep:
        return [(name, part) for name, part in _walk(module, "", set()) if part is not module]
    direct: list[tuple[str, Instance]] = []
    for name, value in _members(module):
        if isinstance(value, Instance) and value.is_module and all(value is not c for _, c in direct):
            direct.append((name, value))
    return direct


@contextmanager
def swapped(module: Instance, weights: dict[str, Value]) -> Iterator[None]:
    """Puts tensors in the place of a module's own for a while."""
    previous: list[tuple[Instance, str, Value]] = []
    for prefix, part in _walk(module, "", set()):
        for name in list(part.attributes):
            dotted = f"{prefix}.{name}" if prefix else name
            if dotted in weights:
                previous.append((part, name, part.attributes[name]))
                part.attributes[name] = weights[dotted]
    try:
        yield
    finally:
        for part, name, value in previous:
            part.attributes[name] = value


def call(
    machine: Machine,
    instance: Instance,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """`instance.<name>(…)`."""
    if instance.kind == optim.OWN:
        return optim.own_method(machine, instance, name, arguments, keywords, node)
    if not instance.is_module:
        special = frameworks.object_method(machine, instance, name, arguments, keywords, node)
        if special is not None:
            return special[0]
        return unknown.call_unknown(machine, Unknown(name=name, owner=instance), arguments, keywords, node)
    first = arguments[0] if arguments else None
    if name in ("parameters", "buffers"):
        if name == "parameters":
            found = tuple(t for _, t in parameters(machine, instance)[0])
            machine.asked.append((machine.here(node), found))
            return ListValue(found, machine.here(node), ITERATOR)
        return ListValue([t for _, t in tensors(instance, buffers=True) if not t.parameter])
    if name in ("named_parameters", "named_buffers"):
        if name == "named_parameters":
            return ListValue([(n, t) for n, t in parameters(machine, instance)[0]])
        return ListValue([(n, t) for n, t in tensors(instance, buffers=True) if not t.parameter])
    if name in ("children", "modules"):
        own: list[Value] = [instance] if name == "modules" else []
        return ListValue([*own, *(c for _, c in children(instance, deep=name == "modules"))])
    if name in ("named_children", "named_modules"):
        own = [("", instance)] if name == "named_modules" else []
        return ListValue([*own, *((n, c) for n, c in children(instance, deep=name == "named_modules"))])
    if name in ("train", "eval"):
        mode = False if name == "eval" else True if first is None else machine.truth(first)
        for _, part in _walk(instance, "", set()):
            part.training = mode
        return instance
    if name == "requires_grad_":
        needed = machine.truth(keywords.get("requires_grad", True if first is None else first))
        for _, tensor in tensors(instance):
            machine.set_requires_grad(tensor, needed)
        return instance
    if name in PLACING:
        return instance
    if name == "zero_grad":
        kept = argument(arguments, keywords, 0, "set_to_none", True) is False
        machine.zero_gradients([t for _, t in parameters(machine, instance)[0]], keep=kept)
        return None
    if name == "state_dict":
        made: dict[Value, Value] = {n: _state(machine, t, node) for n, t in tensors(instance, buffers=True)}
        return DictValue(made, machine.here(node))
    if name == "load_state_dict":
        for _, tensor in tensors(instance, buffers=True):
            machine.mark_write(tensor, "load")
        return Unknown(data=True)
    if (
        name in ("register_buffer", "register_parameter", "add_module", "register_module")
        and len(arguments) + len(keywords) > 1
    ):
        return _register(machine, instance, name, arguments, keywords, node)
    if name in ("append", "extend", "insert") and isinstance(instance.children, ListValue):
        _extend(machine, instance.children, name, arguments, node)
        return instance
    if name in ("items", "keys", "values", "update", "pop", "get") and isinstance(instance.children, DictValue):
        return containers.dict_method(machine, instance.children, name, arguments, keywords)
    if name == "apply":
        for part in [*(c for _, c in children(instance, deep=True)), instance]:
            machine.call(first, [part], {}, node)
        return instance
    if name in ("register_forward_hook", "register_forward_pre_hook"):
        (instance.forward_hooks if name == "register_forward_hook" else instance.pre_hooks).append(first)
        return _handle(machine, instance, first, node)
    if name in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        instance.backward_hook = machine.here(node)
        if name == "register_full_backward_hook":
            instance.backward_hooks.append(first)
        return _handle(machine, instance, first, node)
    if name in ("forward", "__call__"):
        return machine.forward(instance, arguments, keywords, node)
    if name == "get_parameter" or name == "get_submodule":
        return _by_path(instance, first)
    if name == "reset_running_stats":
        for buffer in ("running_mean", "running_var"):
            held = instance.attributes.get(buffer)
            if isinstance(held, Tensor):
                machine.mark_write(held)
        return None
    if name in QUIET:
        return None
    if name == "__init__":
        return None
    special = frameworks.object_method(machine, instance, name, arguments, keywords, node)
    if special is not None:
        return special[0]
    if isinstance(instance.children, ListValue) and name in ("pop", "clear", "reverse", "index", "count"):
        return containers.list_method(machine, instance.children, name, arguments, node)
    if not instance.opaque and instance.kind is None and name.startswith("__"):
        return Unknown()
    return unknown.call_unknown(machine, Unknown(name=name, owner=instance), arguments, keywords, node)


def _handle(machine: Machine, module: Instance, hook: Value, node: ast.AST | None) -> Instance:
    """What `register_…_hook` returns: its `remove()` takes the hook away."""
    handle = Instance("hook", None, machine.here(node))
    handle.options = {"module": module, "hook": hook}
    return handle


def _state(machine: Machine, tensor: Tensor, node: ast.AST | None) -> Tensor:
    """A tensor as `state_dict()` hands it out: detached."""
    state = machine.detached(tensor)
    if state.cuts and machine.needs_grad(tensor) is not NO:
        state.cuts = (*state.cuts[:-1], Cut("state_dict", machine.here(node), (tensor,)))
    return state


def _by_path(instance: Instance, path: Value) -> Value:
    if not isinstance(path, str):
        return Unknown()
    value: Value = instance
    for part in path.split("."):
        value = dict(_members(value)).get(part) if isinstance(value, Instance) else None
    return value if value is not None else Unknown()


def _register(
    machine: Machine,
    instance: Instance,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    label = arguments[0] if arguments else keywords.get("name")
    value = (
        arguments[1] if len(arguments) > 1 else keywords.get("tensor", keywords.get("param", keywords.get("module")))
    )
    if name in ("add_module", "register_module") and isinstance(instance.children, ListValue):
        instance.children.items.append(value)
        if isinstance(label, str):
            instance.child_names[label] = value
    elif isinstance(label, str) and "." not in label:
        instance.attributes[label] = value
        if name == "register_buffer" and isinstance(value, Tensor) and value.leaf and value.needs is YES:
            machine.plain_leaves.append((instance, label, machine.here(node)))
        if isinstance(value, Tensor) and value.parameter:
            machine.note_late(instance, value, node)
        target = node or machine.node
        instance.stores[label] = machine.note_store(value, "attribute", f"self.{label}", target, None, instance)
    else:
        instance.attributes[f"?{len(instance.attributes)}"] = value
    return None


def _extend(machine: Machine, children: ListValue, name: str, arguments: list[Value], node: ast.AST | None) -> None:
    if name == "append" and arguments:
        children.items.append(arguments[0])
    elif name == "extend" and arguments:
        children.items += machine.items_of(arguments[0], node)[0]
    elif arguments:
        children.items.insert(0, arguments[-1])


def super_method(
    machine: Machine,
    proxy: SuperProxy,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """`super().<name>(…)` where no class of the program defines it."""
    receiver = proxy.receiver
    if not isinstance(receiver, Instance):
        return Unknown()
    if name == "__init__":
        if receiver.is_module and receiver.kind is not None and receiver.kind != "Function":
            nn.initialise(machine, receiver, receiver.kind, arguments, keywords, node)
        elif receiver.cls is not None and (base := distributions.base_of(receiver.cls)) is not None:
            distributions.initialise(machine, receiver, base, arguments, keywords)
        elif receiver.kind == optim.OWN:
            optim.adopt(machine, receiver, arguments, keywords)
        return None
    if name == "__setattr__" and len(arguments) > 1 and isinstance(arguments[0], str):
        receiver.attributes[arguments[0]] = arguments[1]
        return None
    if name == "__getattr__" and arguments and isinstance(arguments[0], str):
        return receiver.attributes.get(arguments[0], Unknown())
    if name == "__call__":
        return machine.forward(receiver, arguments, keywords, node)
    if name == "forward" and receiver.kind is not None:
        return nn.forward(machine, receiver, arguments, keywords, node)
    return call(machine, receiver, name, arguments, keywords, node)


__all__ = ["Function", "a_number", "call", "children", "parameters", "super_method", "swapped", "tensors"]
