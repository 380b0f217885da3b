"""`copy.deepcopy` of a tensor that is not a leaf."""

from __future__ import annotations

from gradsense.machine.events import DeepcopyOfGraph
from gradsense.rules.base import Rule
from gradsense.rules.wording import tensor_name


class DeepcopyOfGraphRule(Rule[DeepcopyOfGraph]):
    code, name = "GS410", "deepcopy-of-graph"
    listens_to = DeepcopyOfGraph
    outcome = "raises"

    def message(self, event: DeepcopyOfGraph) -> str:
        return f"{tensor_name(event.tensor)} is no leaf, and only leaves can be deep-copied"

    def expected(self, event: DeepcopyOfGraph) -> str | None:
        return (
            "RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment."
        )
