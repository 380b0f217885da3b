"""In-place ops: `x += y`, `x.relu_()`, `x[i] = y`."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradsense.machine.events import InplaceAllowed, StaleGradients
from gradsense.machine.graph import MAX_CUTS, MEANT, Cut, Saved, Tensor
from gradsense.machine.library.ops import collect, kind_of, named_tensors, plain
from gradsense.machine.ops.rows import Kind, OpRow
from gradsense.machine.ops.table import table
from gradsense.machine.tri import MAYBE, NO, YES, any_of
from gradsense.machine.values import Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# They overwrite the tensor: the old value's graph stays an edge, and nothing is saved.
OVERWRITING = frozenset(
    (
        "zero",
        "fill",
        "copy",
        "normal",
        "uniform",
        "bernoulli",
        "random",
        "exponential",
        "trunc_normal",
        "log_normal",
        "cauchy",
        "geometric",
        "fill_diagonal",
    )
)
INTEGER_OPERATORS = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "bitwise_left_shift"))
# They write some elements of a tensor, which an index or a mask names.
PARTIAL_WRITES = frozenset(
    """index_put index_add index_copy index_fill index_reduce scatter scatter_add scatter_reduce masked_fill
    masked_scatter""".split()
)


def write(
    machine: Machine,
    tensor: Tensor,
    name: str,
    arguments: Sequence[Value] = (),
    keywords: Mapping[str, Value] | None = None,
    *,
    kind: str = "inplace",
) -> Tensor:
    """`tensor.name_(*arguments)`: the tensor, written.

    Raises:
        PathEnds: if torch surely refuses the write.
    """
    machine.mark_reached()
    others = [a for a in (*arguments, *(keywords or {}).values()) if isinstance(a, Tensor)]
    if name in ("copy", "add", "sub", "mul", "div", "index_put"):
        for argument in arguments:
            if isinstance(argument, Unknown) and not argument.number:
                stand_in = machine.as_tensor(argument)
                if stand_in is not None:
                    others.append(stand_in)
    if any(a is tensor for a in others):
        # An operand is kept as it is given, and this very write changes it: not so what the op keeps of its receiver.
        twin = copy.copy(tensor)
        arguments = [twin if a is tensor else a for a in arguments]
        keywords = {k: twin if a is tensor else a for k, a in (keywords or {}).items()}
        others = [twin if a is tensor else a for a in others]
    machine.check_late_view(tensor)
    own = machine.needs_grad(tensor)
    needs = any_of([own, *(machine.needs_grad(t) for t in others)])
    machine.check_in_place(tensor, needs, name)
    before = machine.graph_of(tensor)
    machine.mark_write(tensor, kind)
    note_update(machine, tensor, others)
    if machine.grad_mode is NO or machine.inference or needs is NO or not tensor.floating:
        if (name in PARTIAL_WRITES or name == "copy") and machine.grad_mode is not NO:
            # A one-hot of `argmax` ends the graph as the indices do.
            _take_cuts(tensor, [c for other in others for c in other.cuts if c.how not in MEANT])
        return tensor
    sure = needs is YES and machine.grad_mode is YES
    _take_cuts(tensor, [c for other in others for c in other.cuts])
    parents = [machine.edge(tensor), *(machine.edge(t) for t in others)]
    if name in OVERWRITING:
        if own is NO and not any(machine.needs_grad(t) is not NO for t in others):
            return tensor
        machine.rebase(tensor, f"{name}_", parents, [], False, sure)
        return tensor
    row, saved, private, perhaps = _books(machine, tensor, name, arguments, keywords or {})
    kept = [
        Saved(what, what.storage.version - (what is not tensor and what.storage is tensor.storage), known)
        for what, known in saved
    ]
    machine.rebase(tensor, f"{name}_", parents, kept, private, sure and (row is None or row.sure))
    node = tensor.base.node if tensor.base is not None else tensor.node
    if node is not None:
        node.perhaps = perhaps
    if own is YES and machine.module is None and before is not None and not tensor.base:
        machine.events.append(InplaceAllowed(place=machine.here(), tensor=tensor, maker=before))
    return tensor


def _take_cuts(tensor: Tensor, cuts: list[Cut]) -> None:
    """Has a written tensor, and what it is a view of, the cuts of what was written into it."""
    for held in (tensor, tensor.base) if cuts else ():
        if held is not None:
            held.cuts = (*held.cuts, *(c for c in cuts if c not in held.cuts))[-MAX_CUTS:]


def is_partial_write(op: str) -> bool:
    """Whether the node of that name wrote some elements of a tensor."""
    return op.endswith("_") and op[:-1] in PARTIAL_WRITES


def note_update(machine: Machine, tensor: Tensor, others: Sequence[Tensor]) -> None:
    """A leaf that is written with its own gradient is stepped by hand: gradients used before must be gone by then."""
    for other in others:
        leaf = other.gradient_from or other.gradient_of
        if leaf is None or leaf.storage is not tensor.storage:
            continue
        used = any(c.used == "update" for c in leaf.contributions)
        new = [c for c in leaf.contributions if c.used != "update"]
        if used and new:
            event = StaleGradients(place=new[-1].walk.place, walk=new[-1].walk, step=machine.here())
            event.also = [(machine.here(), "stepped here")]
            machine.report(event)
        for contribution in leaf.contributions:
            contribution.used = "update"
            contribution.walk.used_leaves.add(leaf)
        return


def _books(
    machine: Machine, tensor: Tensor, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[OpRow | None, list[tuple[Tensor, bool]], bool, bool]:
    """What the in-place form saves: tensors with whether that is sure, something private, perhaps something."""
    plain_arguments = [tensor, *(plain(a) for a in arguments)]
    found = table().resolve(name, plain_arguments, {k: plain(v) for k, v in keywords.items()}, kind_of)
    if found is None:
        found = table().resolve(
            f"nn.functional.{name}", plain_arguments, {k: plain(v) for k, v in keywords.items()}, kind_of
        )
    if found is None:
        return None, [], False, True
    row, bound = found
    tensors = named_tensors(machine, row, bound)
    receiver = next((n for n, group in tensors.items() if group and group[0] is tensor), "input")
    if row.inplace is not None:
        specs, private, perhaps = collect(machine, row.inplace, tensors, row.sure)
        # `out0` is the tensor after the write; a saved `input` is the same storage, torn by this very write.
        return row, [(tensor if isinstance(w, int) else w, known) for w, known in specs], private, perhaps
    specs, private, perhaps = collect(machine, row.saves, tensors, row.sure)
    kept: list[tuple[Tensor, bool]] = []
    for what, known in specs:
        if isinstance(what, int):
            kept.append((tensor, known))
        elif what is tensor:
            # torch keeps a clone of the old value, or refuses; either way no one can write to it.
            private = True
        else:
            kept.append((what, known))
    if receiver not in row.saves and not specs:
        perhaps = perhaps or row.param(receiver) is None
    return row, kept, private, perhaps


__all__ = ["INTEGER_OPERATORS", "MAYBE", "OVERWRITING", "Kind", "write"]
