"""A custom Function marks an input dirty and returns another tensor."""

from __future__ import annotations

from gradsense.machine.events import DirtyNotReturned
from gradsense.rules.base import Rule


class DirtyNotReturnedRule(Rule[DirtyNotReturned]):
    code, name = "GS208", "dirty-not-returned"
    listens_to = DirtyNotReturned
    outcome = "raises"

    def message(self, event: DirtyNotReturned) -> str:
        return "the tensor marked dirty here is not what `forward` returns"

    def expected(self, event: DirtyNotReturned) -> str | None:
        return (
            "RuntimeError: Some elements marked as dirty during the forward method were not returned as output."
        )
