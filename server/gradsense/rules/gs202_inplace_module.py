"""A module with inplace=True writes to a tensor that a node saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.out_of_place import separate
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceModule(Rule[SavedModified]):
    code, name = "GS202", "inplace-module"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner == "module"

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor, "its input")
        where = line_of(event.node.place, event.culprit)
        return f"this module writes {name}, which {op_name(event.node)} on {where} saved for backward"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        write = event.write
        if write.module is None:
            yield from separate(write, event.saved, event.node, event.walk)
        yield from turn_off(write.module.made if write.module is not None else None, write.place)
