"""`backward(create_graph=True)` leaves graphs in `.grad`."""

from __future__ import annotations

from gradsense.machine.events import CreateGraphBackward, GraphGrows
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity


class CreateGraphBackwardRule(Rule[CreateGraphBackward | GraphGrows]):
    code, name = "GS304", "create-graph-backward"
    listens_to = (CreateGraphBackward, GraphGrows)
    outcome = "grows"

    def matches(self, event: CreateGraphBackward | GraphGrows) -> bool:
        return not isinstance(event, GraphGrows) or event.slot == "gradient"

    def severity(self, event: CreateGraphBackward | GraphGrows) -> Severity:
        return Severity.WARNING if isinstance(event, GraphGrows) else Severity.INFORMATION

    def message(self, event: CreateGraphBackward | GraphGrows) -> str:
        if isinstance(event, GraphGrows):
            return f"`.grad` holds the graph of every pass: {event.nodes_per_pass} nodes more each"
        return "`backward(create_graph=True)` leaves `.grad` holding graphs: set it to None, or use `autograd.grad`"
