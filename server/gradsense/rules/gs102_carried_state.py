"""A tensor of an earlier pass is still wired into this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.carrying import cut_carried
from gradsense.rules.wording import line_of, op_name, tensor_name


class CarriedState(Rule[WalkedTwice]):
    code, name = "GS102", "carried-state"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "carried"

    def message(self, event: WalkedTwice) -> str:
        held = tensor_name(event.held, "this value")
        where = line_of(event.walk.place, event.culprit)
        return f"{held} carries the graph of an earlier pass into {where}, where it was freed"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        yield from cut_carried(event.held, event.stores, event.walk, event.entry)
