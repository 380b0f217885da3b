"""A gradient is used in a loss, without create_graph=True."""

from __future__ import annotations

from gradsense.machine.events import ConstantGradient
from gradsense.rules.base import Rule


class MissingCreateGraph(Rule[ConstantGradient]):
    code, name = "GS402", "missing-create-graph"
    listens_to = ConstantGradient
    outcome = "silent"

    def message(self, event: ConstantGradient) -> str:
        return "this gradient is part of a loss that is walked, but was made without `create_graph=True`: a constant"
