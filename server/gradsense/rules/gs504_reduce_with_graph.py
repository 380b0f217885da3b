"""A collective on a tensor that still has its graph."""

from __future__ import annotations

from gradsense.machine.events import ReduceWithGraph
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.wording import tensor_name


class ReduceWithGraphRule(Rule[ReduceWithGraph]):
    code, name = "GS504", "reduce-with-graph"
    listens_to = ReduceWithGraph
    outcome = "clean"

    def severity(self, event: ReduceWithGraph) -> Severity:
        return Severity.INFORMATION

    def message(self, event: ReduceWithGraph) -> str:
        return f"{tensor_name(event.tensor)} is reduced with its graph: pass `.detach()`"
