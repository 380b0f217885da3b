"""Backward from something that has no graph."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import GraphLost, NoGraph
from gradsense.machine.place import Place
from gradsense.rules.base import NO_GRAPH, Rule
from gradsense.rules.wording import line_of, tensor_name


class NoGraphRule(Rule[NoGraph | GraphLost]):
    code, name = "GS401", "no-graph"
    listens_to = (NoGraph, GraphLost)
    outcome = "raises"

    def matches(self, event: NoGraph | GraphLost) -> bool:
        return not (event.cuts and event.cuts[-1].how == "grad" and isinstance(event, NoGraph))

    def message(self, event: NoGraph | GraphLost) -> str:
        if isinstance(event, GraphLost):
            if event.how == "tensor":
                return "`torch.tensor` of tensors makes a new leaf: their graphs are lost, `requires_grad=True` only hides it"
            return "`requires_grad_()` on a computed value makes it a leaf: the error goes away, no parameter gets a gradient"
        name = tensor_name(event.tensor, "the loss")
        if event.cuts and event.culprit.key == event.cuts[-1].place.key:
            where = line_of(event.place, event.culprit)
            return f"{name} loses its graph here (`{event.cuts[-1].how}`), and {where} walks it"
        return f"{name} has no graph: nothing that it was computed from requires grad"

    def related(self, event: NoGraph | GraphLost) -> Iterable[tuple[Place, str]]:
        for cut in event.cuts:
            yield cut.place, f"the graph is cut here: `{cut.how}`"

    def expected(self, event: NoGraph | GraphLost) -> str | None:
        return NO_GRAPH if isinstance(event, NoGraph) else None
