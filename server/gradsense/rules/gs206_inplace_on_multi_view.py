"""A write to a view that torch lets no one write to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import ViewWritten
from gradsense.machine.place import Place
from gradsense.machine.tri import YES
from gradsense.rules.base import Rule
from gradsense.rules.repairs.copies import copies_of_parts, copy_of
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.no_grad import under_no_grad
from gradsense.rules.repairs.out_of_place import detach_instead, moving
from gradsense.rules.wording import tensor_name


class InplaceOnMultiView(Rule[ViewWritten]):
    code, name = "GS206", "inplace-on-multi-view"
    listens_to = ViewWritten
    outcome = "raises"

    def message(self, event: ViewWritten) -> str:
        reasons = {
            "multi": "an output of `unbind`, `chunk` or `split`",
            "no_grad": "a view that was made under `no_grad`",
            "hook": "the input of a module with a full backward hook",
            "detach": "a view, and `detach_()` works on no view",
            "expanded": "expanded: several of its elements are one in memory",
        }
        return f"{tensor_name(event.tensor)} is {reasons[event.why]}"

    def related(self, event: ViewWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "the view is made here"

    def expected(self, event: ViewWritten) -> str | None:
        return (
            "RuntimeError: Can't detach views in-place. Use detach() instead."
            if event.why == "detach"
            else "RuntimeError: Output 0 of […] is a view and is being modified inplace."
        )

    def fixes(self, event: ViewWritten) -> Iterator[Fix]:
        tensor = event.tensor
        if event.why == "hook" and event.spot is not None:
            yield from turn_off(event.spot, event.place)
        if event.why == "expanded":
            yield from copy_of(tensor.made)
        if event.why == "detach":
            yield from detach_instead(event.place)
        base = tensor.base
        if base is not None and base.leaf and base.needs is YES:
            yield from under_no_grad(event.place, tensor_name(tensor, "it"))
        yield from moving(event.place, tensor)[1]
        if event.why == "multi":
            yield from copies_of_parts(tensor.made)
