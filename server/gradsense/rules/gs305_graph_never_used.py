"""A forward is kept with its graph, and no backward follows."""

from __future__ import annotations

from gradsense.machine.events import GraphGrows
from gradsense.rules.accumulation import is_accumulation
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.wording import store_name


class GraphNeverUsed(Rule[GraphGrows]):
    code, name = "GS305", "graph-never-used"
    listens_to = GraphGrows
    outcome = "grows"

    def matches(self, event: GraphGrows) -> bool:
        return (
            event.slot != "gradient"
            and not event.walked
            and event.evaluation is not None
            and not is_accumulation(event.store)
        )

    def severity(self, event: GraphGrows) -> Severity:
        return Severity.INFORMATION if event.short else Severity.WARNING

    def message(self, event: GraphGrows) -> str:
        return (
            f"{store_name(event.store)} keeps a forward with its graph in every pass, and nothing walks it: "
            f"{event.nodes_per_pass} nodes and their activations each"
        )
