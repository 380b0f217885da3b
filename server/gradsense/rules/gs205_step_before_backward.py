"""An optimizer steps between a forward and its backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.carrying import cut_carried, detach_where_read
from gradsense.rules.repairs.copies import save_copies
from gradsense.rules.repairs.into_loop import compute_each_pass
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class StepBeforeBackward(Rule[SavedModified]):
    code, name = "GS205", "step-before-backward"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner in ("step", "carried", "update")

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor, "a weight")
        where = line_of(event.walk.place, event.culprit)
        how = "write" if event.manner == "update" else "step"
        saved = line_of(event.node.place, event.culprit)
        return f"this {how} changes {name}, which the walk on {where} needs as it was on {saved}"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        if event.manner == "carried":
            yield from compute_each_pass(event.held, event.stores, event.walk)
            yield from cut_carried(event.held, event.stores, event.walk, event.entry)
        yield from save_copies(event.node, event.saved, event.write, event.walk)
        if event.manner != "carried":
            yield from detach_where_read(event.held, event.entry, event.walk)
            yield from reorder(event.node, event.saved, event.write, event.walk)
