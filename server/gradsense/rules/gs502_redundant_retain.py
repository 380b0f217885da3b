"""`retain_graph=True` beside `create_graph=True`."""

from __future__ import annotations

from gradsense.machine.events import RetainedWalk
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity


class RedundantRetain(Rule[RetainedWalk]):
    code, name = "GS502", "redundant-retain"
    listens_to = RetainedWalk
    outcome = "clean"

    def matches(self, event: RetainedWalk) -> bool:
        return event.redundant

    def severity(self, event: RetainedWalk) -> Severity:
        return Severity.HINT

    def message(self, event: RetainedWalk) -> str:
        return "`create_graph=True` keeps the graph already"
