"""The storage of a saved tensor is written through an alias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified, SilentlyModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.copies import copy_alias, save_copies
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceThroughDetach(Rule[SavedModified | SilentlyModified]):
    code, name = "GS204", "inplace-through-detach"
    listens_to = (SavedModified, SilentlyModified)
    outcome = "raises"

    def matches(self, event: SavedModified | SilentlyModified) -> bool:
        return isinstance(event, SilentlyModified) or event.manner == "detach"

    def message(self, event: SavedModified | SilentlyModified) -> str:
        name = tensor_name(event.saved.tensor)
        where = f"{op_name(event.node)} on {line_of(event.node.place, event.culprit)}"
        if isinstance(event, SilentlyModified):
            how = "a fused optimizer's step" if event.write.kind == "fused" else "this write"
            return f"{how} changes {name}, which {where} saved: torch does not notice, and the gradient is wrong"
        alias = tensor_name(event.write.tensor, "this tensor")
        if alias == name:
            return f"this writes {name} through an alias, and {where} saved it for backward"
        return f"{alias} shares the storage of {name}, which {where} saved for backward: this write changes both"

    def related(self, event: SavedModified | SilentlyModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        if event.write.tensor is not None and event.write.through is not None:
            yield (event.write.tensor.base or event.write.tensor).made, "the alias is made here"
        if event.walk is not None:
            yield event.walk.place, "walked here"

    def expected(self, event: SavedModified | SilentlyModified) -> str | None:
        return None if isinstance(event, SilentlyModified) else modified(event)

    def fixes(self, event: SavedModified | SilentlyModified) -> Iterator[Fix]:
        yield from copy_alias(event.write)
        yield from save_copies(event.node, event.saved, event.write, event.walk)
        if event.walk is not None:
            yield from reorder(event.node, event.saved, event.write, event.walk)
