"""A custom Function marks an input dirty and returns another tensor."""

from __future__ import annotations

from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import DirtyNotReturned
from gradsense.rules.base import Rule
from gradsense.rules.repairs.dirty import return_what_is_marked


class DirtyNotReturnedRule(Rule[DirtyNotReturned]):
    code, name = "GS208", "dirty-not-returned"
    listens_to = DirtyNotReturned
    outcome = "raises"

    def message(self, event: DirtyNotReturned) -> str:
        return "the tensor marked dirty here is not what `forward` returns"

    def expected(self, event: DirtyNotReturned) -> str | None:
        return "RuntimeError: Some elements marked as dirty during the forward method were not returned as output."

    def fixes(self, event: DirtyNotReturned) -> Iterator[Fix]:
        yield from return_what_is_marked(event.marked)
