"""A custom Function marks an input dirty and returns another tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import DirtyNotReturned
from gradsense.rules.base import Rule
from gradsense.rules.repairs.dirty import return_what_is_marked
from gradsense.rules.wording import quoted


class DirtyNotReturnedRule(Rule[DirtyNotReturned]):
    code, name = "GS208", "dirty-not-returned"
    listens_to = DirtyNotReturned
    outcome = "raises"

    def message(self, event: DirtyNotReturned) -> str:
        call = event.marked.node
        name = quoted(ast.unparse(call.args[0])) if isinstance(call, ast.Call) and call.args else "the tensor"
        return f"{name} is marked dirty here, and `forward` returns another tensor"

    def expected(self, event: DirtyNotReturned) -> str | None:
        return (
            "RuntimeError: Some elements marked as dirty during the forward method were not returned as output. The "
            "inputs that are modified inplace must all be outputs of the Function."
        )

    def fixes(self, event: DirtyNotReturned) -> Iterator[Fix]:
        yield from return_what_is_marked(event.marked)
