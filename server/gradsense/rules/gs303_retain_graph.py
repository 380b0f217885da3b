"""`retain_graph=True` that nothing needs."""

from __future__ import annotations

from gradsense.machine.events import RetainedWalk
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity


class RetainGraph(Rule[RetainedWalk]):
    code, name = "GS303", "retain-graph"
    listens_to = RetainedWalk
    outcome = "clean"

    def matches(self, event: RetainedWalk) -> bool:
        return not event.redundant

    def severity(self, event: RetainedWalk) -> Severity:
        return Severity.INFORMATION

    def message(self, event: RetainedWalk) -> str:
        return "`retain_graph=True` is needed by no later walk: it costs memory, and would hide a carried graph"
