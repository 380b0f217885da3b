"""`.grad` of a tensor that is not a leaf is None."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import GradOfNonLeaf, GradOfNonLeafUsed
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.wording import line_of, tensor_name


class NonLeafGrad(Rule[GradOfNonLeaf | GradOfNonLeafUsed]):
    code, name = "GS404", "non-leaf-grad"
    listens_to = (GradOfNonLeaf, GradOfNonLeafUsed)
    outcome = "raises"

    def message(self, event: GradOfNonLeaf) -> str:
        what = "no leaf" if not event.tensor.leaf else "a tensor without a graph"
        return f"{tensor_name(event.tensor)} is {what}, so its `.grad` on {line_of(event.read, event.culprit)} is None"

    def related(self, event: GradOfNonLeaf) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"
        yield event.read, "`.grad` is read here"
