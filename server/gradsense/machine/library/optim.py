"""Optimizers: which parameters they hold, and what a step writes."""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING

from gradsense.machine.events import ClippedInVain, NonLeafOptimized, ScaledGradients, StaleGradients
from gradsense.machine.graph import Tensor
from gradsense.machine.library.arguments import argument
from gradsense.machine.place import Place
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import (
    BoundMethod,
    DictValue,
    External,
    Function,
    Instance,
    ListValue,
    Optimizer,
    Unknown,
    Value,
    a_number,
)
from gradsense.machine.walking import Clips

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def parameters_of(machine: Machine, value: Value, depth: int = 0) -> tuple[list[Tensor], list[Unknown]]:
    """The tensors of a `params` argument, and its unknown parts."""
    from gradsense.machine.library import module_methods

    if isinstance(value, Tensor):
        return [value], []
    if isinstance(value, Unknown):
        return [], [value]
    if isinstance(value, DictValue):
        inner: Value = value.items["params"] if "params" in value.items else ListValue(value.items.values())
        return parameters_of(machine, inner, depth + 1)
    if isinstance(value, Instance) and value.is_module:
        found, complete = module_methods.parameters(machine, value)
        return [t for _, t in found], [] if complete else [Unknown(name="parameters")]
    tensors: list[Tensor] = []
    unknowns: list[Unknown] = []
    if value is None or depth > 4:
        return tensors, unknowns
    for item in machine.items_of(value)[0]:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            item = item[1]
        more, odd = parameters_of(machine, item, depth + 1)
        tensors += more
        unknowns += odd
    return tensors, unknowns


def _groups(machine: Machine, params: Value) -> list[list[Tensor]]:
    """The parameters of each group, where the program writes groups."""
    if not isinstance(params, ListValue) or not all(isinstance(group, DictValue) for group in params.items):
        return []
    return [parameters_of(machine, group)[0] for group in params.items]


def make(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """`torch.optim.<name>(params, …)`."""
    tensors, unknowns = parameters_of(machine, argument(arguments, keywords, 0, "params"))
    if keywords.get("differentiable") is not True:
        for tensor in tensors:
            check_leaf(machine, tensor)
    made = Optimizer(name, list(dict.fromkeys(tensors)), keywords.get("fused") is True, machine.here(node))
    made.unknowns = unknowns
    made.complete = not unknowns
    made.groups = _groups(machine, argument(arguments, keywords, 0, "params"))
    machine.trail.note("optimizer", id(node))
    machine.optimizers.append(made)
    return made


# A scaler's own way to divide gradients, or to step.
UNSCALES = re.compile(r"\bunscale_")
STEPS = re.compile(r"\.step\(\s*\w")
# Where an object of a class of the program that is derived from `torch.optim.Optimizer` keeps its books.
OWN = "optimizer"


def adopt(machine: Machine, owner: Instance, arguments: list[Value], keywords: dict[str, Value]) -> None:
    """`super().__init__(params, defaults)` of an optimizer that the program writes itself: what its methods find."""
    params = argument(arguments, keywords, 0, "params")
    made = make(machine, owner.cls.name if owner.cls is not None else "", [params], {}, None)
    assert isinstance(made, Optimizer)
    made.made = owner.made
    owner.options[OWN] = made
    defaults = argument(arguments, keywords, 1, "defaults")
    held = machine.items_of(params)[0] if isinstance(params, (ListValue, tuple)) else []
    groups: list[Value] = [part for part in held if isinstance(part, DictValue)] or [params]
    owner.attributes["defaults"] = defaults
    owner.attributes["param_groups"] = ListValue([_group(machine, group, defaults) for group in groups])
    state = DictValue()
    state.default = External("builtins.dict")
    owner.attributes["state"] = state


def _group(machine: Machine, given: Value, defaults: Value) -> DictValue:
    """One of `param_groups`."""
    tensors, unknowns = parameters_of(machine, given)
    group = DictValue(dict(defaults.items) if isinstance(defaults, DictValue) else {"lr": a_number()})
    if isinstance(given, DictValue):
        group.items.update(given.items)
    group.items["params"] = ListValue([*tensors, *unknowns])
    return group


def own(value: Value) -> Optimizer | None:
    """The books of an optimizer that the program writes itself."""
    found = value.options.get(OWN) if isinstance(value, Instance) else None
    return found if isinstance(found, Optimizer) else None


def own_method(
    machine: Machine,
    owner: Instance,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """A method that an optimizer of the program leaves to `torch.optim.Optimizer`."""
    books = own(owner)
    if books is None and name == "zero_grad":
        # Around another optimizer, whose groups it takes without a constructor of its own.
        for held in owner.attributes.values():
            inner = held if isinstance(held, Optimizer) else own(held)
            if inner is not None:
                method(machine, inner, name, arguments, keywords, node)
        return None
    if books is None or name == "step":
        return Unknown(data=True)
    if name == "add_param_group" and arguments:
        groups = owner.attributes.get("param_groups")
        if isinstance(groups, ListValue):
            groups.items.append(_group(machine, arguments[0], owner.attributes.get("defaults")))
    return method(machine, books, name, arguments, keywords, node)


def own_call(
    machine: Machine, called: BoundMethod, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method that an optimizer of the program has itself: what its `step` writes counts as written by a step."""
    before, books = machine.order, own(called.receiver)
    result = machine.call(called.function, [called.receiver, *arguments], keywords, node)
    if books is None or not isinstance(called.function, Function) or called.function.name != "step":
        return result
    place = machine.here(node)
    for write in (w for p in books.parameters for w in p.storage.writes):
        if write.order > before:
            write.kind, write.place = "step", place
    _apply(machine, books, before)
    return result


def unscale(optimizer: Value) -> None:
    """`scaler.unscale_(optimizer)`, which `scaler.step(optimizer)` makes up for."""
    for parameter in optimizer.parameters if isinstance(optimizer, Optimizer) else ():
        for contribution in parameter.contributions:
            contribution.unscaled = True


def clip(machine: Machine, given: Value, bound: Value) -> None:
    """`clip_grad_norm_(parameters, bound)`: notes whether there was anything to clip, and whether it was still scaled.

    An infinite bound clips nothing: who gives one wants to know the norm.
    """
    if bound == math.inf or (isinstance(bound, External) and bound.last == "inf"):
        return
    used_up = given.used_up if isinstance(given, ListValue) else None
    tensors, unknowns = parameters_of(machine, given)
    place = machine.here()
    if used_up is not None and tensors:
        machine.report(ClippedInVain(place=place, used_up=used_up))
        return
    if unknowns or not tensors or any(t.phantom or t.origin != "known" for t in tensors):
        return
    contributions = [c for t in tensors for c in t.contributions]
    scaled = next((c.walk for c in contributions if c.is_scaled and c.used is None), None)
    if scaled is not None and not _mentions(UNSCALES, place, scaled.place):
        machine.report(ScaledGradients(place=place, walk=scaled, how="clip"))
    noted = machine.clips.setdefault(place.key, Clips(place))
    noted.place = place
    noted.calls += 1
    if not contributions:
        noted.early += all(t.gradient is None and not t.has_gradient for t in tensors)
    elif all(c.used in ("step", "update") for c in contributions):
        noted.late += 1
        noted.step = machine.steps[-1][1] if machine.steps else None


def _mentions(pattern: re.Pattern[str], *places: Place) -> bool:
    """Whether the files of some places have a text, on whatever path."""
    return any(pattern.search(text) for text in {place.source.text for place in places})


def check_leaf(machine: Machine, tensor: Tensor) -> None:
    """An optimizer takes leaves only, and computed tensors that keep their gradient.

    Raises:
        PathEnds: if torch surely refuses the tensor.
    """
    needs = machine.needs_grad(tensor)
    if not tensor.leaf and not tensor.retains_grad and tensor.origin == "known" and needs is not NO:
        sure = needs is YES and tensor.node is not None and tensor.node.sure
        machine.report(NonLeafOptimized(place=machine.here(), sure=sure, tensor=tensor))


def method(
    machine: Machine,
    optimizer: Optimizer,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """`optimizer.<name>(…)`."""
    if name == "step":
        return step(machine, optimizer, argument(arguments, keywords, 0, "closure"), node)
    if name == "zero_grad":
        kept = argument(arguments, keywords, 0, "set_to_none", True) is False
        machine.zero_gradients(optimizer.parameters, keep=kept)
        return None
    if name == "add_param_group" and arguments:
        tensors, unknowns = parameters_of(machine, arguments[0])
        optimizer.parameters += [t for t in tensors if t not in optimizer.parameters]
        optimizer.unknowns += unknowns
        optimizer.complete = optimizer.complete and not unknowns
        return None
    return Unknown(data=True)


def step(machine: Machine, optimizer: Optimizer, closure: Value, node: ast.AST | None) -> Value:
    """A step writes every parameter that has a gradient, after it ran the closure it was given.

    Returns:
        What the closure returned.
    """
    result: Value = Unknown(data=True)
    if closure is not None and not isinstance(closure, Unknown):
        mode, inference, outer = machine.grad_mode, machine.inference, machine.epoch
        # LBFGS calls its closure several times a step, each time after moving the parameters.
        rounds = 3 if optimizer.name == "LBFGS" else 1
        machine.loop_count += 1
        loop = machine.loop_count
        for number in range(rounds):
            if rounds > 1:
                machine.epoch = (*outer, (loop, number))
            machine.grad_mode = YES
            machine.step_epochs.add(machine.epoch)
            result = machine.call(closure, [], {}, node)
            machine.grad_mode, machine.inference = mode, inference
            if rounds > 1 and number < rounds - 1:
                machine.epoch = outer
                _apply(machine, optimizer)
        machine.epoch = outer
    _apply(machine, optimizer)
    return result


def _apply(machine: Machine, optimizer: Optimizer, before: int | None = None) -> None:
    """What a step does to the parameters that have a gradient.

    Args:
        before: when the step began whose own code was run already: what it wrote is written.
    """
    machine.mark_reached()
    machine.step_epochs.add(machine.epoch)
    machine.steps.append((optimizer, machine.here(), machine.tick()))
    stale = False
    ready = [p for p in optimizer.parameters if p.gradient is not None]
    if not any(p.has_gradient for p in ready):
        machine.idle_steps.append((optimizer, machine.tick(), machine.here(), machine.epoch))
    _note_leftovers(machine, optimizer, ready)
    scaled = next((c.walk for p in ready if not p.phantom for c in p.contributions if c.is_scaled and not c.used), None)
    if scaled is not None and not _mentions(STEPS, machine.here(), scaled.place):
        machine.report(ScaledGradients(place=machine.here(), walk=scaled, how="step"))
    for parameter in ready:
        storage = parameter.storage
        if before is None or not any(w.order > before for w in (*storage.writes[-1:], *storage.silent[-1:])):
            machine.mark_write(parameter, "fused" if optimizer.fused else "step")
        if not stale and optimizer.complete and not parameter.phantom:
            stale = _report_stale(machine, optimizer, parameter)
        machine.use_gradient(parameter, "step", optimizer)


def _note_leftovers(machine: Machine, optimizer: Optimizer, ready: list[Tensor]) -> None:
    """Notes a step on what two walks left, on the first of which another optimizer stepped before the second came."""
    mixed = next((p for p in ready if len(p.contributions) > 1 and not p.phantom), None)
    if mixed is None or not optimizer.complete:
        return
    first, last = mixed.contributions[0], mixed.contributions[-1]
    if first.used == "step" or last.used == "step" or first.walk.retain:
        # Who keeps the graph of the first for the second means both.
        return
    for other, _, order in machine.steps:
        if first.walk.order < order < last.walk.order and other is not optimizer and other.complete:
            own = set(other.parameters)
            if own & first.walk.used_leaves and not own & set(optimizer.parameters):
                zeroed, epoch = machine.last_zeroing.get(id(mixed), (0, ()))
                both = zeroed < first.walk.order and epoch == first.walk.epoch == last.walk.epoch
                # A loss that goes on through the other player is one against it.
                both = both and not any(c.walk is last.walk for p in other.parameters for c in p.contributions)
                machine.leftovers.append((first.walk, last.walk, other, machine.here(), both))
                return


def _report_stale(machine: Machine, optimizer: Optimizer, parameter: Tensor) -> bool:
    """Whether the step uses again what an earlier step of this optimizer used, together with something new."""
    used = any(c.used == "step" and c.optimizer is optimizer for c in parameter.contributions)
    new = [c for c in parameter.contributions if c.used in (None, "read")]
    if not used or not new:
        return False
    event = StaleGradients(place=new[-1].walk.place, walk=new[-1].walk, step=machine.here())
    event.also = [(machine.here(), "stepped here")]
    machine.report(event)
    return True
