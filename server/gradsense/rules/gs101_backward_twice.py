"""The same graph is walked a second time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.rewalking import compute_again, keep_graph, take_out, walk_once, zeroed_between
from gradsense.rules.wording import line_of, op_name


class BackwardTwice(Rule[WalkedTwice]):
    code, name = "GS101", "backward-twice"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "same"

    def message(self, event: WalkedTwice) -> str:
        first = line_of(event.first.place, event.culprit)
        if event.first.kind == "grad" and event.culprit.key == event.first.place.key:
            return f"this `autograd.grad` frees the graph that {line_of(event.walk.place, event.culprit)} walks again"
        return f"the graph was walked and freed on {first} already"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        first, second = event.first, event.walk
        plain = first.kind == second.kind == "backward" and not first.partial and not second.partial
        zeroed = zeroed_between(first, second)
        if plain and zeroed and event.stepped:
            yield from compute_again(first, second)
        if plain and event.entry is None:
            yield from take_out(first if zeroed and not event.stepped else second)
        elif plain:
            yield from walk_once(first, second)
        # Of two plain walks the second adds the gradients of the first once more.
        yield from keep_graph(first, alters=plain)
