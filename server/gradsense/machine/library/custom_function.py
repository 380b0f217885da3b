"""`torch.autograd.Function` subclasses."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.events import DirtyNotReturned, SilentlyModified
from gradsense.machine.graph import Cut, Saved, Tensor
from gradsense.machine.library import custom_backward
from gradsense.machine.place import Place
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import NO, YES, any_of
from gradsense.machine.values import ClassValue, Function, Instance, Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


class _Context:
    """What a custom forward told its context."""

    def __init__(self) -> None:
        self.saved: list[tuple[Tensor, int, Place]] = []
        self.dirty: list[Tensor] = []
        self.dirty_place: Place | None = None
        self.no_gradient: list[Tensor] = []


def apply(
    machine: Machine, cls: ClassValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """`MyFunction.apply(…)`: the forward runs without recording; one node stands for it."""
    forward = cls.find("forward")
    if not isinstance(forward, Function):
        return Unknown()
    noted = _Context()
    context = Instance("ctx", None, machine.here(node))
    context.options["noted"] = noted
    inputs = [a for a in arguments if isinstance(a, Tensor)]
    mode, machine.grad_mode = machine.grad_mode, NO
    setup = cls.find("setup_context")
    try:
        first: list[Value] = [] if isinstance(setup, Function) else [context]
        result = machine.call(forward, first + arguments, keywords, node)
        if isinstance(setup, Function):
            machine.call(setup, [context, tuple(arguments), result], {}, node)
    finally:
        machine.grad_mode = mode
    outputs = list(result) if isinstance(result, tuple) else [result]
    needs = any_of(machine.needs_grad(i) for i in inputs)
    for tensor in noted.dirty:
        if not any(o is tensor for o in outputs) and needs is not NO:
            event = DirtyNotReturned(
                place=machine.here(node), sure=needs is YES, marked=noted.dirty_place or machine.here(node)
            )
            if tensor.storage.writes:
                event.also = [(tensor.storage.writes[-1].place, "written here")]
            machine.report(event)
    if needs is not NO:
        _check_written(machine, noted, node)
    kept = [(t, place) for t, _, place in noted.saved]
    refusal, once = custom_backward.refusals(machine, cls, arguments, node) if needs is not NO else (None, None)
    unfed = _without_gradient(cls, arguments) if needs is not NO else []
    finished = [_output(machine, o, outputs, inputs, noted, kept, node) for o in outputs]
    for made in finished if refusal or once else ():
        if isinstance(made, Tensor) and made.node is not None:
            made.node.refusal, made.node.once = refusal, once
    for made in finished if unfed else ():
        if isinstance(made, Tensor) and made.node is not None:
            fed = [machine.edge(i) for i in inputs if not any(i in cut.lost for cut in unfed)]
            made.node.lead_to(fed)
            made.cuts = (*made.cuts, *unfed)
    return tuple(finished) if isinstance(result, tuple) else finished[0]


def _without_gradient(cls: ClassValue, arguments: list[Value]) -> list[Cut]:
    """The arguments that need grad and for which every `return` of the backward gives None."""
    backward = cls.find("backward") if cls.has("backward") else None
    if not isinstance(backward, Function) or isinstance(backward.node, ast.Lambda):
        return []
    returned = [part.value for part in nodes_of(backward.node) if isinstance(part, ast.Return)]
    rows = [value.elts for value in returned if isinstance(value, ast.Tuple)]
    if not rows or len(rows) < len(returned) or any(len(row) != len(arguments) for row in rows):
        return []
    return [
        Cut("return None", Place(backward.source, rows[0][index]), (given,))
        for index, given in enumerate(arguments)
        if isinstance(given, Tensor) and given.needs is not NO and all(_is_none(row[index]) for row in rows)
    ]


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _check_written(machine: Machine, noted: _Context, node: ast.AST | None) -> None:
    """A tensor saved, then written in the same forward: torch takes its version after the forward, and sees nothing."""
    for tensor, version, place in noted.saved:
        if tensor.storage.version > version:
            write = tensor.storage.writes[-1]
            holder = machine.record_node("custom", (), [], False, True, place)
            event = SilentlyModified(
                place=machine.here(node), node=holder, saved=Saved(tensor, version, True), write=write, walk=None
            )
            machine.report(event)


def _output(
    machine: Machine,
    output: Value,
    outputs: list[Value],
    inputs: list[Tensor],
    noted: _Context,
    kept: list[tuple[Tensor, Place]],
    node: ast.AST | None,
) -> Value:
    if not isinstance(output, Tensor):
        return output
    if any(output is t for t in noted.no_gradient):
        return output
    needs = any_of(machine.needs_grad(i) for i in inputs)
    saved = [Saved(t, t.storage.version, True) for t, _ in kept]
    if any(output is t for t in noted.dirty):
        if machine.grad_mode is not NO and needs is not NO:
            machine.check_in_place(output, needs)
            machine.rebase(output, "custom", [machine.edge(i) for i in inputs], saved, False, needs is YES)
        return output
    made = machine.record("custom", inputs, private=bool(kept), shape=output.shape, dtype=output.dtype)[0]
    made.storage = output.storage
    origin = next((i for i in inputs if i.storage is output.storage), None)
    if origin is not None and made.node is not None:
        # An input returned as it is, or a view of it: torch lets nobody write it.
        made.base, made.view_kind = origin.base or origin, "custom"
        made.seen, made.since = made.base.rebased, made.storage.version
    if made.node is not None:
        made.node.saved = [Saved(t, t.storage.version, True) for t, _ in kept if not any(t is o for o in outputs)]
        made.node.saved += [Saved(made, made.storage.version, True) for t, _ in kept if t is output]
    return made


def context_method(machine: Machine, context: Instance, name: str, arguments: list[Value]) -> Value:
    """`ctx.save_for_backward(…)` and its kin."""
    noted = context.options.get("noted")
    if isinstance(noted, _Context):
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        if name == "save_for_backward":
            noted.saved += [(t, t.storage.version, machine.here()) for t in tensors]
        elif name == "mark_dirty":
            noted.dirty += tensors
            noted.dirty_place = machine.here()
        elif name == "mark_non_differentiable":
            noted.no_gradient += tensors
    return None
