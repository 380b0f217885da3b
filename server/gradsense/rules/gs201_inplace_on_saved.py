"""A write to a tensor that a node saved for backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.repairs.out_of_place import separate
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceOnSaved(Rule[SavedModified]):
    code, name = "GS201", "inplace-on-saved"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner == "inplace"

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor)
        where = line_of(event.node.place, event.culprit)
        return f"{op_name(event.node)} on {where} saved {name} for backward, and this writes it"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        yield from separate(event.write, event.saved, event.node, event.walk)
        yield from reorder(event.node, event.saved, event.write, event.walk)
