"""A list, dictionary, attribute, hook or logger keeps the graph of every step."""

from __future__ import annotations

from gradsense.machine.events import GraphGrows
from gradsense.rules.accumulation import is_accumulation
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.wording import store_name


class GraphKept(Rule[GraphGrows]):
    code, name = "GS302", "graph-kept"
    listens_to = GraphGrows
    outcome = "grows"

    def matches(self, event: GraphGrows) -> bool:
        return (
            event.slot != "gradient"
            and not is_accumulation(event.store)
            and (event.walked or event.evaluation is None)
        )

    def severity(self, event: GraphGrows) -> Severity:
        return Severity.INFORMATION if event.short else Severity.WARNING

    def message(self, event: GraphGrows) -> str:
        what = f"{event.nodes_per_pass} graph nodes more each pass"
        if not event.walked:
            what += ", with the activations they saved"
        return f"{store_name(event.store)} keeps the graph of every pass: {what}"
