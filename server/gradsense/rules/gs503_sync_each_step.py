"""`.item()` in every pass of a loop on the GPU."""

from __future__ import annotations

from gradsense.machine.events import SyncEachStep
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity


class SyncEachStepRule(Rule[SyncEachStep]):
    code, name = "GS503", "sync-each-step"
    listens_to = SyncEachStep
    outcome = "clean"

    def severity(self, event: SyncEachStep) -> Severity:
        return Severity.INFORMATION

    def message(self, event: SyncEachStep) -> str:
        return "each pass waits for the GPU here: add up detached tensors, and take one `.item()` at the end"
