"""Gradients are zeroed before any step used them."""

from __future__ import annotations

from gradsense.machine.events import GradientsDiscarded
from gradsense.rules.base import Rule
from gradsense.rules.wording import line_of


class GradientsDiscardedRule(Rule[GradientsDiscarded]):
    code, name = "GS408", "gradients-discarded"
    listens_to = GradientsDiscarded
    outcome = "silent"

    def message(self, event: GradientsDiscarded) -> str:
        where = line_of(event.walk.place, event.culprit)
        return f"what the walk on {where} put into `.grad` is zeroed here before any step uses it"
