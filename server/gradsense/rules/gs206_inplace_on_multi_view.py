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
from gradsense.rules.torch_says import VIEWS
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceOnMultiView(Rule[ViewWritten]):
    code, name = "GS206", "inplace-on-multi-view"
    listens_to = ViewWritten
    outcome = "raises"

    def message(self, event: ViewWritten) -> str:
        reasons = {
            "multi": "an output of {op} on {line}, and a write to one of several views is refused",
            "no_grad": "a view that was made under `no_grad` on {line}, and this writes it with grad mode on",
            "hook": "the output or input of a module with a full backward hook, and this writes it",
            "detach": "a view made on {line}, and `detach_()` works on no view",
            "expanded": "expanded on {line}: several of its elements are one in memory, and this writes them",
        }
        made = event.tensor.made
        node = event.tensor.node
        op = op_name(node) if node is not None else "`unbind`, `chunk` or `split`"
        return f"{tensor_name(event.tensor)} is {reasons[event.why].format(op=op, line=line_of(made, event.culprit))}"

    def related(self, event: ViewWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "the view is made here"

    def expected(self, event: ViewWritten) -> str | None:
        return VIEWS[event.why]

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
