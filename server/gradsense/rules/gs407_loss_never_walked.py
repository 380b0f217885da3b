"""A loss, or a term of one, that moves nothing."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import DeadTerm, LossNeverWalked
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.wording import tensor_name


class LossNeverWalkedRule(Rule[DeadTerm | LossNeverWalked]):
    code, name = "GS407", "loss-never-walked"
    listens_to = (DeadTerm, LossNeverWalked)
    outcome = "silent"

    def message(self, event: DeadTerm | LossNeverWalked) -> str:
        if isinstance(event, LossNeverWalked):
            return f"{tensor_name(event.loss, 'this loss')} is never walked"
        if event.cut is not None:
            return f"a term of the loss loses its gradient here: `{event.cut.how}`"
        return f"{tensor_name(event.term, 'this term')} moves nothing: no optimizer steps what it reaches"

    def related(self, event: DeadTerm | LossNeverWalked) -> Iterable[tuple[Place, str]]:
        if isinstance(event, DeadTerm):
            yield event.term.made, "the term"
            yield event.walk.place, "walked here"
