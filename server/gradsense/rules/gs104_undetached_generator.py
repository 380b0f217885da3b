"""One player's loss walks into the other's graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice, WastedWalk
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.into_loop import treat_as_constant
from gradsense.rules.repairs.players import detach_argument
from gradsense.rules.wording import line_of, op_name, tensor_name


class UndetachedGenerator(Rule[WalkedTwice | WastedWalk]):
    code, name = "GS104", "undetached-generator"
    listens_to = (WalkedTwice, WastedWalk)
    outcome = "raises"

    def matches(self, event: WalkedTwice | WastedWalk) -> bool:
        return not isinstance(event, WalkedTwice) or event.manner == "player"

    def severity(self, event: WalkedTwice | WastedWalk) -> Severity:
        return super().severity(event) if isinstance(event, WalkedTwice) else Severity.INFORMATION

    def message(self, event: WalkedTwice | WastedWalk) -> str:
        if isinstance(event, WalkedTwice):
            held = tensor_name(event.held, "this argument")
            first = line_of(event.first.place, event.culprit)
            return f"{held} still has its graph here, so the walk on {first} frees it: pass `.detach()`"
        return "this walk also runs through a network whose gradients are zeroed unused: pass the argument detached"

    def related(self, event: WalkedTwice | WastedWalk) -> Iterable[tuple[Place, str]]:
        if isinstance(event, WalkedTwice):
            yield event.node.place, f"{op_name(event.node)} saved for backward here"
            yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked here"

    def expected(self, event: WalkedTwice | WastedWalk) -> str | None:
        return SECOND_TIME if isinstance(event, WalkedTwice) else None

    def fixes(self, event: WalkedTwice | WastedWalk) -> Iterator[Fix]:
        if event.use is None:
            return
        held = event.held if isinstance(event, WalkedTwice) else None
        yield from detach_argument(event.use, event.first if isinstance(event, WalkedTwice) else event.walk, held)
        if isinstance(event, WalkedTwice):
            yield from treat_as_constant(event.held, event.stores, event.walk)
