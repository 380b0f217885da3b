"""PAGE"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import InplaceAllowed
from gradsense.machine.graph import Node
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.out_of_place import moving
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceAllowedRule(Rule[InplaceAllowed]):
    code, name = "GS210", "inplace-allowed"
    listens_to = InplaceAllowed
    outcome = "clean"

    def matches(self, event: InplaceAllowed) -> bool:
        return all(saved.storage is not event.tensor.storage for saved in event.maker.saved)

    def severity(self, event: InplaceAllowed) -> Severity:
        return Severity.HINT

    def message(self, event: InplaceAllowed) -> str:
        name = tensor_name(event.tensor, "its output")
        where = line_of(event.maker.place, event.place)
        return f"allowed: {op_name(event.maker)} on {where} saves {_what(event.maker)}, not {name}"

    def related(self, event: InplaceAllowed) -> Iterable[tuple[Place, str]]:
        yield event.maker.place, "made here"

    def fixes(self, event: InplaceAllowed) -> Iterator[Fix]:
        yield from moving(event.place, event.tensor)[1]


def _what(node: Node) -> str:
    """What an operation keeps for its backward, in words."""
    kinds = []
    if any(not saved.tensor.parameter for saved in node.saved):
        kinds.append("its input")
    if any(saved.tensor.parameter for saved in node.saved):
        kinds.append("its weight")
    if node.private:
        kinds.append("something of its own")
    return " and ".join(kinds) or "nothing"
