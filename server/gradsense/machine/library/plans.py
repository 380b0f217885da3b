"""What an op on arguments that look like earlier ones comes to, found out once.

Which row an op has, the size of its result and what its node saves follow from the sizes, the types and the gradients'
needs of its arguments, and from its options. A training loop asks the same again in every pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradsense.machine.books import SavedSpec
from gradsense.machine.graph import Shape, Tensor
from gradsense.machine.ops.rows import OpRow
from gradsense.machine.values import ListValue, Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# As many different calls are remembered, of about 4 KB each; a large repository makes some hundreds.
MOST_PLANS = 5_000
# Longer lists are not told part by part.
MOST_PARTS = 8

Looks = tuple[object, ...]


class Plan:
    """How to record one op: tensors stand as positions in its arguments.

    Args:
        row: the op's row.
        name: the name of the node.
        groups: the tensors, by parameter.
        inputs: those that a gradient can flow to.
        saved: what the node keeps: a tensor or an output's number, and whether that is sure.
        others: those that no gradient flows to.
    """

    __slots__ = ("dtype", "groups", "inputs", "name", "others", "perhaps", "private", "row", "saved", "shape")

    def __init__(
        self,
        row: OpRow,
        name: str,
        groups: Sequence[tuple[str, int]],
        inputs: Sequence[int],
        saved: Sequence[tuple[bool, int, bool]],
        others: Sequence[int],
        *,
        private: bool,
        perhaps: bool,
        shape: Shape | None,
        dtype: str | None,
    ) -> None:
        self.row = row
        self.name = name
        self.groups = groups
        self.inputs = inputs
        self.saved = saved
        self.others = others
        self.private = private
        self.perhaps = perhaps
        self.shape = shape
        self.dtype = dtype

    def run(self, machine: Machine, values: Sequence[Value]) -> Tensor:
        """Records the op on these arguments."""
        tensors: list[Tensor] = values  # type: ignore[assignment]  # only tensors are at the positions below
        saved: list[SavedSpec] = [(at if is_output else tensors[at], sure) for is_output, at, sure in self.saved]
        made = machine.record(
            self.name,
            [tensors[at] for at in self.inputs],
            saved,
            private=self.private,
            perhaps=self.perhaps,
            shape=self.shape,
            dtype=self.dtype,
            sure=self.row.sure,
        )[0]
        groups = {name: [tensors[at]] for name, at in self.groups}
        note_origin(made, self.row, groups, [tensors[at] for at in self.others])
        return made


def note_origin(made: Tensor, row: OpRow, groups: dict[str, list[Tensor]], others: Sequence[Tensor]) -> None:
    """Notes on an op's first result what it was computed from.

    Args:
        groups: the tensors, by parameter.
        others: those that no gradient flows to.
    """
    if others:
        made.lose_with(others)
    if made.node is not None:
        made.node.recipe = (row.saves, groups)


PLANS: dict[Looks, Plan] = {}


def looks_of(
    machine: Machine, name: str, values: Sequence[Value], keywords: Mapping[str, Value] | None, shape: Shape | None
) -> Looks | None:
    """All that a call's plan follows from; None where that is not told in few words.

    Args:
        name: the op.
        values: all arguments, those by keyword last.
        keywords: the arguments by keyword.
        shape: the size of the result, where the caller knows it.
    """
    looks: list[object] = [name, shape, len(values)]
    if keywords:
        looks += keywords
    tensors: list[Tensor] = []
    for value in values:
        kind = type(value)
        if kind is Tensor:
            tensor: Tensor = value  # type: ignore[assignment]  # its type was just looked at
            # The same tensor twice is saved once.
            twice = tensors.index(tensor) if tensor in tensors else -1
            looks += (twice, tensor.shape, tensor.dtype, machine.needs_grad(tensor))
            tensors.append(tensor)
        elif value is None or kind is int or kind is float or kind is str or kind is bool:
            looks += (kind, value)
        elif isinstance(value, Unknown):
            if not value.number:
                return None
            looks.append(Unknown)
        elif isinstance(value, (ListValue, tuple)):
            parts = value if isinstance(value, tuple) else value.items
            if len(parts) > MOST_PARTS or any(type(part) is not int for part in parts):
                return None
            looks += (kind, len(parts), *parts)
        else:
            return None
    return tuple(looks)


def keep(looks: Looks, plan: Plan) -> None:
    """Remembers a plan."""
    if len(PLANS) >= MOST_PLANS:
        PLANS.clear()
    PLANS[looks] = plan


def position(tensor: Tensor, values: Sequence[Value]) -> int | None:
    """Where a tensor is among the arguments."""
    for at, value in enumerate(values):
        if value is tensor:
            return at
    return None
