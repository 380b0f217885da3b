"""An in-place write to a tracked activation that torch allows."""

from __future__ import annotations

from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import InplaceAllowed
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.out_of_place import moving
from gradsense.rules.wording import tensor_name


class InplaceAllowedRule(Rule[InplaceAllowed]):
    code, name = "GS210", "inplace-allowed"
    listens_to = InplaceAllowed
    outcome = "clean"

    def severity(self, event: InplaceAllowed) -> Severity:
        return Severity.HINT

    def message(self, event: InplaceAllowed) -> str:
        return f"safe here: `{event.maker}` does not need {tensor_name(event.tensor)} as it was"

    def fixes(self, event: InplaceAllowed) -> Iterator[Fix]:
        yield from moving(event.place, event.tensor)[1]
