"""A saved tensor is read from a grad_fn after the walk freed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedRead
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.rewalking import keep_graph, read_first
from gradsense.rules.wording import line_of, op_name


class FreedSavedTensor(Rule[SavedRead]):
    code, name = "GS106", "freed-saved-tensor"
    listens_to = SavedRead
    outcome = "raises"

    def message(self, event: SavedRead) -> str:
        return f"what {op_name(event.node)} saved was freed by the walk on {line_of(event.freed.place, event.culprit)}"

    def related(self, event: SavedRead) -> Iterable[tuple[Place, str]]:
        yield event.freed.place, "freed by this walk"

    def expected(self, event: SavedRead) -> str | None:
        return SECOND_TIME

    def fixes(self, event: SavedRead) -> Iterator[Fix]:
        yield from read_first(event.place, event.freed)
        yield from keep_graph(event.freed)
