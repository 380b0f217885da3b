"""`numpy()` of a tensor that requires grad."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import NumpyOfGraph
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.wording import line_of, tensor_name


class NumpyNeedsDetach(Rule[NumpyOfGraph]):
    code, name = "GS409", "numpy-needs-detach"
    listens_to = NumpyOfGraph
    outcome = "raises"

    def message(self, event: NumpyOfGraph) -> str:
        return f"{tensor_name(event.tensor)} requires grad, and {line_of(event.place, event.culprit)} makes an array of it"

    def related(self, event: NumpyOfGraph) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: NumpyOfGraph) -> str | None:
        return (
            "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
