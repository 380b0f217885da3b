"""An in-place write to a leaf that needs grad."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import LeafWritten
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.wording import tensor_name


class InplaceOnLeaf(Rule[LeafWritten]):
    code, name = "GS203", "inplace-on-leaf"
    listens_to = LeafWritten
    outcome = "raises"

    def message(self, event: LeafWritten) -> str:
        kind = "a view of a leaf" if event.view else "a leaf"
        return f"{tensor_name(event.tensor)} is {kind} that requires grad, and this writes it with grad mode on"

    def related(self, event: LeafWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: LeafWritten) -> str | None:
        return (
            f"RuntimeError: a {'view of a ' if event.view else ''}leaf Variable that requires grad is being used in an "
            "in-place operation."
        )
