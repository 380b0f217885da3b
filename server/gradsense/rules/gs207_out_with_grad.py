"""`out=` with tensors that need grad."""

from __future__ import annotations

from gradsense.machine.events import OutWithGrad
from gradsense.rules.base import Rule


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
