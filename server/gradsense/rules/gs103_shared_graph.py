"""Several losses share one forward and are walked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.carrying import detach_where_read
from gradsense.rules.repairs.rewalking import keep_graph, walk_once
from gradsense.rules.wording import line_of, op_name, tensor_name


class SharedGraph(Rule[WalkedTwice]):
    code, name = "GS103", "shared-graph"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "shared"

    def message(self, event: WalkedTwice) -> str:
        shared = tensor_name(event.held, "the shared part")
        where = line_of(event.first.place, event.culprit)
        return f"{shared} was freed by the walk on {where}: walk the sum of the losses once"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        if event.first.kind == event.walk.kind == "backward":
            yield from walk_once(event.first, event.walk)
        if not event.stepped:
            yield from keep_graph(event.first)
        yield from detach_where_read(event.held, event.entry, event.walk)
