"""An in-place write to a leaf that needs grad."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.machine.events import LeafWritten
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.no_grad import computes_with_graph, under_no_grad
from gradsense.rules.repairs.out_of_place import moving, write_at
from gradsense.rules.wording import quoted, tensor_name


class InplaceOnLeaf(Rule[LeafWritten]):
    code, name = "GS203", "inplace-on-leaf"
    listens_to = LeafWritten
    outcome = "raises"

    def message(self, event: LeafWritten) -> str:
        kind = "a view of a leaf" if event.view else "a leaf"
        name = tensor_name(event.tensor, _written(event))
        return f"{name} is {kind} that requires grad, and this writes it with grad mode on"

    def related(self, event: LeafWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: LeafWritten) -> str | None:
        return (
            f"RuntimeError: a {'view of a ' if event.view else ''}leaf Variable that requires grad is being used in an "
            "in-place operation."
        )

    def fixes(self, event: LeafWritten) -> Iterator[Fix]:
        if event.module is not None:
            yield from turn_off(event.module.made, event.place)
            return
        apart = moving(event.place, event.tensor)[1]
        update = [*under_no_grad(event.place, tensor_name(event.tensor, _written(event)))]
        yield from (*apart, *update) if computes_with_graph(event.place) else (*update, *apart)


def _written(event: LeafWritten) -> str:
    """What is written, as the statement spells it: a weight of a layer has no store of its own."""
    code = code_of(event.place)
    node = write_at(code, event.place)
    target = written_tensor(code.tree, node) if node is not None else None
    return quoted(code.text(target)) if target is not None else "this tensor"
