"""A gradient is used in a loss, without create_graph=True."""

from __future__ import annotations

from gradsense.machine.events import ConstantGradient, NoGraph
from gradsense.rules.base import Rule
from gradsense.rules.wording import line_of


class MissingCreateGraph(Rule[ConstantGradient | NoGraph]):
    code, name = "GS402", "missing-create-graph"
    listens_to = (ConstantGradient, NoGraph)
    outcome = "silent"

    def matches(self, event: ConstantGradient | NoGraph) -> bool:
        return isinstance(event, ConstantGradient) or bool(event.cuts and event.cuts[-1].how == "grad")

    def message(self, event: ConstantGradient | NoGraph) -> str:
        if isinstance(event, NoGraph):
            return f"this gradient has no graph of its own, and {line_of(event.place, event.culprit)} walks it: pass `create_graph=True`"
        return "this gradient is part of a loss that is walked, but was made without `create_graph=True`: a constant"
