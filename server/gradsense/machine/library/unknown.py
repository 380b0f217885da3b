"""Calls of what we cannot see."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.events import NoGraph
from gradsense.machine.graph import Tensor
from gradsense.machine.library import autograd_api, optim
from gradsense.machine.library.arguments import flag
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import (
    ContextValue,
    DictValue,
    Function,
    Instance,
    ListValue,
    Optimizer,
    Unknown,
    Value,
    a_number,
    tensors_in,
)

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# They read a value and keep nothing of it.
READERS = frozenset(
    """print add_scalar add_scalars log info debug warning append_row add_image add_histogram write format
    float int str len round set_description set_postfix show imshow savefig title error critical exception""".split()
)
NUMBERS = frozenset("item tolist numpy size dim numel format keys __len__ qsize".split())
PARAMETER_NAMES = frozenset(("parameters", "trainable_parameters", "named_parameters"))
# Methods whose result has a graph if the receiver has one.
PASSING = frozenset(
    """sum mean exp log relu sigmoid tanh softmax view reshape squeeze unsqueeze transpose permute flatten
    chunk split matmul contiguous cuda to cpu float t abs pow sqrt norm clamp max min std var log_softmax
    gather expand repeat masked_fill clone add mul sub div mm bmm unbind select narrow index_select detach
    half double""".split()
)
# Calls of a part of the configuration that give another part; what else it may be asked for may be a network.
READING = frozenset(
    """get pop setdefault items keys values copy getint getfloat getboolean split strip lower upper format join
    startswith endswith replace index count""".split()
)
FORWARDING = frozenset(("forward", "loss", "module", "compute_loss", "__call__", "training_step", "model"))


def make_phantom(machine: Machine) -> Tensor:
    """A leaf that stands for parameters that we cannot see. Writes to it never raise."""
    made = machine.tensor(dtype=None)
    made.needs = YES
    made.parameter = True
    made.phantom = True
    return made


def call_unknown(
    machine: Machine, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """The result of a call that we cannot follow.

    What goes in may be walked or kept there; what comes out may depend on it.
    """
    name = function.name if isinstance(function, Unknown) else None
    owner = function.owner if isinstance(function, Unknown) else None
    values = [*arguments, *keywords.values()]
    known = _by_name(machine, name, owner, arguments, keywords, node)
    if known is not None:
        machine.trail.note(name, id(node))
        return known[0]
    if name not in READERS:
        for value in values:
            machine.escape(value)
        _run_callbacks(machine, values)
    if isinstance(function, Unknown) and function.number:
        return a_number()
    if name in NUMBERS:
        return a_number()
    if name in ("detach", "argmax"):
        return Unknown(data=True)
    sources = sources_of(values)
    if isinstance(owner, Unknown):
        sources += owner.sources
        if owner.phantom is not None and name in FORWARDING:
            sources += (owner.phantom,)
    if isinstance(owner, Instance) and owner.is_module:
        sources += tuple(v for v in owner.attributes.values() if isinstance(v, Tensor) and v.parameter)
    if isinstance(function, Unknown) and function.phantom is not None:
        sources += (function.phantom,)
    sources = tuple(dict.fromkeys(sources))[:8]
    carriers: tuple[Unknown, ...] = tuple(v for v in values if isinstance(v, Unknown))
    carriers += tuple(p for v in values if isinstance(v, tuple) for p in v if isinstance(p, Unknown))
    if isinstance(owner, Unknown) and name in PASSING:
        carriers += (owner,)
    site = machine.call_site(node)
    facts = machine.knowledge.facts
    if site is not None and (facts.get(site) or any(facts.get((site, i)) for i in range(4))):
        for carrier in carriers:
            machine.learn_graph(carrier)
    if site is not None and facts.get(site):
        return machine.result_of_unknown_call(site, sources)
    configuration = isinstance(function, Unknown) and function.configuration
    data = isinstance(function, Unknown) and function.data and (not configuration or name in READING)
    result = Unknown(data=data, site=site, sources=sources, name=name)
    result.configuration = data and configuration
    result.arguments = carriers[:6]
    return result


def sources_of(values: list[Value]) -> tuple[Tensor, ...]:
    """The tensors that the result of a call with these values may depend on."""
    found: tuple[Tensor, ...] = ()
    for value in values:
        if isinstance(value, Tensor):
            found += (value,)
        elif isinstance(value, (ListValue, tuple, DictValue)):
            found += tuple(tensors_in(value)[:4])
        elif isinstance(value, Unknown):
            found += value.sources
        elif isinstance(value, Instance) and value.is_module:
            found += tuple(v for v in value.attributes.values() if isinstance(v, Tensor) and v.parameter)[:2]
    return found


def _run_callbacks(machine: Machine, values: list[Value]) -> None:
    """Functions handed to unseen code are marked as reached: someone else calls them."""
    for value in values:
        if isinstance(value, Function):
            machine.trail.note("handed over", id(value.node))
            machine.handed_over.add(value.node)


def _backward_of_number(machine: Machine, number: Unknown) -> None:
    """`loss.item().backward()`: a number has no `backward`, and neither has an array.

    Raises:
        PathEnds: always, since that raises.
    """
    cut = number.cut
    assert cut is not None
    machine.report(NoGraph(place=machine.here(), tensor=cut.lost[0], cuts=(cut,), walk_kind="number", spot=cut.place))


def _by_name(
    machine: Machine,
    name: str | None,
    owner: Value,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> tuple[Value] | None:
    """Spellings of torch's own methods on values that we do not know."""
    if isinstance(owner, Unknown):
        if name in PARAMETER_NAMES:
            if owner.phantom is None:
                owner.phantom = make_phantom(machine)
            items: list[Value] = [("", owner.phantom)] if name == "named_parameters" else [owner.phantom]
            return (ListValue(items),)
        if name == "zero_grad" and owner.phantom is not None:
            machine.zero_gradients([owner.phantom])
            return (None,)
    if name == "backward" and isinstance(owner, Unknown) and owner.data and owner.cut is not None:
        _backward_of_number(machine, owner)
        return (None,)
    if name in ("backward", "manual_backward"):
        create = flag(keywords.get("create_graph"), False, False)
        retain = flag(keywords.get("retain_graph"), create, True)
        given = arguments[0] if arguments else None
        if not arguments:
            autograd_api.walk_value(machine, owner if isinstance(owner, Unknown) else Unknown(), retain=retain)
        elif isinstance(given, Tensor) and machine.needs_grad(given) is NO and isinstance(owner, Unknown):
            # `unknown.backward(gradient)`: the receiver is the root.
            autograd_api.walk_value(machine, owner, given_gradient=True)
        else:
            autograd_api.walk_value(machine, given, retain=retain, create_graph=create)
        return (None,)
    if name == "scale" and arguments and isinstance(arguments[0], Tensor):
        return (machine.record("mul", [arguments[0]], private=True, shape=arguments[0].shape)[0],)
    if name == "prepare" and arguments:
        return (tuple(arguments) if len(arguments) > 1 else arguments[0],)
    if name == "step" and arguments and isinstance(arguments[0], Optimizer):
        optim.step(machine, arguments[0], None, node)
        return (None,)
    if name == "step" and arguments and isinstance(arguments[0], Function):
        machine.call(arguments[0], [], {}, node)
        return (Unknown(),)
    if name == "scale_loss" and arguments:
        return (ContextValue("scale_loss", arguments[0]),)
    return None
