"""`out=` with tensors that need grad."""

from __future__ import annotations

from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import OutWithGrad
from gradsense.rules.base import Rule
from gradsense.rules.repairs.out_of_place import moving


class OutWithGradRule(Rule[OutWithGrad]):
    code, name = "GS207", "out-with-grad"
    listens_to = OutWithGrad
    outcome = "raises"

    def message(self, event: OutWithGrad) -> str:
        return "`out=` does not work with tensors that require grad"

    def expected(self, event: OutWithGrad) -> str | None:
        return (
            "RuntimeError: functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )

    def fixes(self, event: OutWithGrad) -> Iterator[Fix]:
        yield from moving(event.place, None)[1]
