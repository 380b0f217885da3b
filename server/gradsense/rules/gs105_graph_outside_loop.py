"""Computed from parameters once, before the loop, and walked every pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified, WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.into_loop import compute_each_pass, compute_where_read, treat_as_constant
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class GraphOutsideLoop(Rule[WalkedTwice | SavedModified]):
    code, name = "GS105", "graph-outside-loop"
    listens_to = (WalkedTwice, SavedModified)
    outcome = "raises"

    def matches(self, event: WalkedTwice | SavedModified) -> bool:
        return event.manner == "outside_loop"

    def message(self, event: WalkedTwice | SavedModified) -> str:
        held = tensor_name(event.held, "this value")
        return f"{held} is computed once and walked in every pass on {line_of(event.walk.place, event.culprit)}"

    def related(self, event: WalkedTwice | SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.walk.place, "walked here"

    def expected(self, event: WalkedTwice | SavedModified) -> str | None:
        return SECOND_TIME if isinstance(event, WalkedTwice) else modified(event)

    def fixes(self, event: WalkedTwice | SavedModified) -> Iterator[Fix]:
        yield from compute_each_pass(event.held, event.stores, event.walk)
        yield from compute_where_read(event.stores)
        yield from treat_as_constant(event.held, event.stores, event.walk)
