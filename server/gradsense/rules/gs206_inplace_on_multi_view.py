"""A write to a view that torch lets no one write to."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import ViewWritten
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
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
