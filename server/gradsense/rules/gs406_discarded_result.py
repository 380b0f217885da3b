"""The result of an out-of-place method is thrown away."""

from __future__ import annotations

from gradsense.machine.events import DiscardedResult, UselessMutation
from gradsense.rules.base import Rule


class DiscardedResultRule(Rule[DiscardedResult | UselessMutation]):
    code, name = "GS406", "discarded-result"
    listens_to = (DiscardedResult, UselessMutation)
    outcome = "silent"

    def message(self, event: DiscardedResult | UselessMutation) -> str:
        if isinstance(event, UselessMutation):
            return f"this does nothing: {event.what}"
        return f"`{event.method}()` returns a new tensor and changes nothing: its result is thrown away"
