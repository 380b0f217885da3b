"""`backward`, `autograd.grad` and the rest of `torch.autograd`."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradsense.machine.events import AnomalyOn, InputNotInGraph, OutWithGrad, RetainedWalk
from gradsense.machine.graph import Cut, Node, Tensor
from gradsense.machine.graph_search import reachable
from gradsense.machine.library import grad_mode
from gradsense.machine.library.arguments import argument, flag
from gradsense.machine.tri import MAYBE, NO, YES, any_of
from gradsense.machine.values import ContextValue, GradMode, Unknown, Value, tensors_in

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def walk_value(
    machine: Machine,
    value: Value,
    *,
    retain: bool = False,
    create_graph: bool = False,
    given_gradient: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """A `backward` of any value: an unknown one is learnt to have a graph."""
    if isinstance(value, Unknown):
        machine.learn_graph(value)
        machine.note_site(False)
        return
    if value is None:
        machine.use_of_none()
        return
    if isinstance(value, Tensor):
        walk(machine, [value], retain=retain, create_graph=create_graph, given_gradient=given_gradient, inputs=inputs)


def walk(
    machine: Machine,
    roots: list[Tensor],
    *,
    retain: bool,
    create_graph: bool,
    given_gradient: bool,
    inputs: Sequence[Tensor] | None,
    kind: str = "backward",
) -> list[Node] | None:
    """Walks, and notes how well the graph is known."""
    place = machine.here()
    before = len(machine.walks)
    try:
        running = machine.walk(
            roots, retain=retain, create_graph=create_graph, inputs=inputs, kind=kind, given_gradient=given_gradient
        )
    finally:
        known = len(machine.walks) > before and machine.walks[-1].known
        refused = len(machine.walks) == before and all(r.origin == "known" for r in roots)
        known = known or refused
        machine.note_site(known, "" if known else _doubt(machine, roots))
    if retain and running is not None:
        machine.retained.append((machine.walks[-1], place))
    if create_graph and running is not None and machine.called_back:
        _call_hooks(machine, running)
    return running


def _call_hooks(machine: Machine, running: list[Node]) -> None:
    """The full backward hooks of modules that a walk came through, whose gradients have a graph of their own."""
    for node in running:
        module = machine.called_back.get(node)
        for hook in module.backward_hooks if module is not None else ():
            made = machine.gradient_node(running)
            gradient = machine.tensor()
            if made.parents:
                gradient.needs = YES if made.sure else MAYBE
                gradient.leaf, gradient.node, made.output = False, made, gradient
            machine.call(hook, [module, (gradient,), (gradient,)], {}, None)


def _doubt(machine: Machine, roots: list[Tensor]) -> str:
    """Where the part of a graph that is not fully known begins."""
    reached = reachable(machine.edge(root) for root in roots)
    origins = [node for node in reached if not node.sure and all(parent.sure for parent in node.parents)]
    if not origins:
        return "its root is not known"
    first = min(origins, key=lambda node: node.order)
    return f"`{first.op}` on line {first.place.line} of {os.path.basename(first.place.path)}"


def backward(
    machine: Machine, roots: list[Tensor], arguments: list[Value], keywords: dict[str, Value], *, method: bool
) -> Value:
    """`loss.backward(gradient, retain_graph, create_graph, inputs)`."""
    create = flag(argument(arguments, keywords, 2, "create_graph"), False, False)
    given_retain = argument(arguments, keywords, 1, "retain_graph")
    retain = flag(given_retain, create, True)
    gradient = argument(arguments, keywords, 0, "gradient")
    note_flags(machine, keywords, create)
    inputs = keywords.get("inputs")
    wanted = None if inputs is None else tensors_of(machine, inputs)
    if wanted and _walkable(machine, roots, gradient is not None):
        check_inputs(machine, wanted, "backward")
    walk(machine, roots, retain=retain, create_graph=create, given_gradient=gradient is not None, inputs=wanted)
    return None


def note_flags(machine: Machine, keywords: Mapping[str, Value], create: bool) -> None:
    """`create_graph=True, retain_graph=True`: the second says nothing new."""
    if create and keywords.get("retain_graph") is True:
        machine.report(RetainedWalk(place=machine.here(), call=machine.here(), needed=True, redundant=True))


def tensors_of(machine: Machine, value: Value) -> list[Tensor] | None:
    """The tensors of an `inputs` argument, None if one of them is unknown."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Unknown):
        return None
    items, _ = machine.items_of(value)
    tensors = [t for item in items if isinstance(t := item, Tensor)]
    return tensors if len(tensors) == len(items) else None


def call(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """`torch.autograd.<name>(…)`."""
    last = name.rpartition(".")[2]
    if last == "grad":
        return grad(machine, arguments, keywords)
    if last == "backward":
        roots = argument(arguments, keywords, 0, "tensors")
        create = flag(argument(arguments, keywords, 3, "create_graph"), False, False)
        retain = flag(argument(arguments, keywords, 2, "retain_graph"), create, True)
        given = argument(arguments, keywords, 1, "grad_tensors") is not None
        note_flags(machine, keywords, create)
        inputs = keywords.get("inputs")
        wanted = None if inputs is None else tensors_of(machine, inputs)
        known = tensors_of(machine, roots)
        if known and wanted and _walkable(machine, known, given):
            check_inputs(machine, wanted, "backward")
        if known:
            walk(machine, known, retain=retain, create_graph=create, given_gradient=given, inputs=wanted)
        elif isinstance(roots, Unknown):
            walk_value(machine, roots)
        elif known is None:
            # Walked together with what is not known.
            machine.escape(roots)
            machine.note_site(False)
        return None
    if last == "Variable":
        return variable(machine, arguments, keywords)
    if last in ("set_detect_anomaly", "detect_anomaly"):
        on = argument(arguments, keywords, 0, "mode", True)
        if on is True:
            machine.report(AnomalyOn(place=machine.here()))
        elif on is False:
            machine.events[:] = [event for event in machine.events if not isinstance(event, AnomalyOn)]
        return ContextValue("anomaly")
    if last in ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"):
        return grad_mode.make(machine, last, arguments, node)
    if last in ("save_on_cpu", "saved_tensors_hooks", "set_multithreading_enabled", "profile", "record_function"):
        return ContextValue(last)
    if last in FUNCTIONAL:
        made = functional(machine, last, arguments, keywords, node)
        return Unknown(name=last, sources=tuple(t for a in arguments for t in tensors_in(a))) if made is None else made
    return Unknown(name=last)


# How often each of `torch.autograd.functional` differentiates, and whether it returns the value as well.
FUNCTIONAL = {
    "jacobian": (1, False),
    "hessian": (2, False),
    "vjp": (1, True),
    "jvp": (1, True),
    "hvp": (2, True),
    "vhp": (2, True),
}


def functional(
    machine: Machine, last: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """`jacobian(function, inputs)` and its kin: the function's own forward and walks; None where they are not seen."""
    times, with_value = FUNCTIONAL[last]
    inputs = argument(arguments, keywords, 1, "inputs")
    given = tensors_of(machine, inputs)
    create = flag(argument(arguments, keywords, 3 if with_value else 2, "create_graph"), False, False)
    if not given or not arguments:
        return None
    mode, machine.grad_mode = machine.grad_mode, YES
    try:
        own: list[Value] = []
        for tensor in given:
            leaf = machine.tensor(tensor.shape, tensor.dtype)
            leaf.needs = YES
            own.append(machine.record("clone", [tensor], shape=tensor.shape)[0] if create and tensor.node else leaf)
        value = machine.call(arguments[0], own, {}, node)
        result: Value = value
        for order in range(times):
            found = tensors_in(result)
            if not found:
                return None
            roots = [t if t.one_element else machine.record("sum", [t], shape=())[0] for t in found]
            deeper = create or order < times - 1
            result = grad(machine, [tuple(roots), tuple(own)], {"create_graph": deeper, "allow_unused": True})
    finally:
        machine.grad_mode = mode
    parts = list(result) if isinstance(result, tuple) else []
    if not with_value:
        # A jacobian has the sizes of both sides.
        for part in tensors_in(result):
            part.shape = None
    made = parts[0] if len(parts) == 1 else tuple(parts)
    return (value, made) if with_value else made


def grad(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph)`."""
    outputs = argument(arguments, keywords, 0, "outputs")
    inputs = argument(arguments, keywords, 1, "inputs")
    create = flag(argument(arguments, keywords, 4, "create_graph"), False, False)
    retain = flag(argument(arguments, keywords, 3, "retain_graph"), create, True)
    given = argument(arguments, keywords, 2, "grad_outputs")
    note_flags(machine, keywords, create)
    wanted: list[Value]
    if isinstance(inputs, (Tensor, Unknown)):
        wanted = [inputs]
    else:
        wanted = machine.items_of(inputs)[0] if inputs is not None else []
    roots = (
        [outputs]
        if isinstance(outputs, (Tensor, Unknown))
        else machine.items_of(outputs)[0]
        if outputs is not None
        else []
    )
    known_roots = [r for r in roots if isinstance(r, Tensor)]
    known_inputs = [t for t in wanted if isinstance(t, Tensor)]
    complete = len(known_inputs) == len(wanted)
    running = None
    if known_roots and complete and _walkable(machine, known_roots, given is not None):
        check_inputs(machine, known_inputs)
    reached = below_surely(machine, known_roots) if len(known_roots) == len(roots) and complete else None
    if known_roots:
        running = walk(
            machine,
            known_roots,
            retain=retain,
            create_graph=create,
            given_gradient=given is not None,
            inputs=known_inputs if complete else None,
            kind="grad",
        )
    elif roots and isinstance(roots[0], Unknown):
        machine.learn_graph(roots[0])
        machine.note_site(False)
    allowed = keywords.get("allow_unused") not in (None, False) or keywords.get("materialize_grads") not in (
        None,
        False,
    )
    if reached is not None and not allowed:
        check_used(machine, known_inputs, reached)
    results: list[Value] = []
    targets = [machine.edge(item) if isinstance(item, Tensor) else None for item in wanted]
    nodes = machine.gradient_nodes(running, targets) if create and running else None
    for position, item in enumerate(wanted):
        if allowed and reached is not None and isinstance(item, Tensor) and _unused(machine, item, reached):
            results.append(None if keywords.get("materialize_grads") in (None, False) else machine.tensor(item.shape))
            continue
        gradient = machine.tensor(
            item.shape if isinstance(item, Tensor) else None, item.dtype if isinstance(item, Tensor) else None
        )
        node = nodes[position] if nodes is not None else None
        if node is not None and not node.parents:
            gradient.cuts = ()
        elif node is not None:
            gradient.needs = YES if node.sure else MAYBE
            gradient.leaf = False
            gradient.node = node
            if node.output is None:
                node.output = gradient
        elif running is None:
            gradient.origin = "unknown"
        elif any(n.raises_when_walked_twice for n in running):
            cut = Cut("grad", machine.here())
            gradient.cuts = (cut,)
            machine.grad_walks[id(cut)] = machine.walks[-1]
        results.append(gradient)
    return tuple(results)


def _walkable(machine: Machine, roots: list[Tensor], given: bool) -> bool:
    """Whether nothing is wrong with the roots, which torch looks at first."""
    return all(machine.needs_grad(r) is not NO and (given or r.one_element is not False) for r in roots)


def check_inputs(machine: Machine, inputs: Sequence[Tensor], how: str = "no_grad") -> None:
    """Every input must need grad.

    Raises:
        PathEnds: if that surely raises.
    """
    for tensor in inputs:
        if tensor.origin == "unknown" or tensor.phantom:
            continue
        if machine.needs_grad(tensor) is NO:
            machine.report(InputNotInGraph(place=machine.here(), tensor=tensor, why=how, sure=True))


def below_surely(machine: Machine, roots: Sequence[Tensor]) -> dict[Node, None] | None:
    """The nodes under the roots, None where they may not be all of them or not all be there."""
    if not roots or any(machine.needs_grad(r) is not YES for r in roots):
        return None
    reached = reachable(machine.edge(r) for r in roots)
    # The node of a gradient knows what it was made of only as a whole.
    return reached if all(n.sure and n.op != "grad" for n in reached) else None


def _unused(machine: Machine, tensor: Tensor, reached: Mapping[Node, None]) -> bool:
    edge = machine.edge(tensor)
    return edge is not None and edge not in reached and not tensor.phantom and tensor.origin == "known"


def check_used(machine: Machine, inputs: Sequence[Tensor], reached: Mapping[Node, None]) -> None:
    """`autograd.grad` wants every input, unless told otherwise, to be part of the graph.

    Raises:
        PathEnds: if that surely raises.
    """
    for tensor in inputs:
        if _unused(machine, tensor, reached):
            machine.report(InputNotInGraph(place=machine.here(), tensor=tensor, why="unused", sure=True))


def variable(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`Variable(x, requires_grad=True)` is a new leaf; without it, `x` itself as far as gradients go."""
    data = argument(arguments, keywords, 0, "data")
    requires = argument(arguments, keywords, 1, "requires_grad", False)
    if requires is True:
        made = machine.detached(data) if isinstance(data, Tensor) else machine.tensor()
        made.needs = YES
        made.through = None
        made.origin = "known"
        return made
    return data if data is not None else Unknown()


def write_out(machine: Machine, operands: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """An op with `out=`: torch refuses it where a gradient would be needed.

    Raises:
        PathEnds: if it surely refuses.
    """
    out = keywords["out"]
    if not isinstance(out, Tensor):
        return out
    needs = any_of(machine.needs_grad(t) for t in [out, *(o for o in operands if isinstance(o, Tensor))])
    if needs is not NO and machine.grad_mode is not NO:
        machine.report(OutWithGrad(place=machine.here(), sure=needs is YES and machine.grad_mode is YES))
    machine.mark_write(out)
    return out


__all__ = ["GradMode", "backward", "call", "grad", "tensors_of", "variable", "walk", "walk_value", "write_out"]
