"""Gradients are never zeroed between steps."""

from __future__ import annotations

from gradsense.machine.events import StaleGradients
from gradsense.rules.base import Rule
from gradsense.rules.wording import line_of


class StaleGradientsRule(Rule[StaleGradients]):
    code, name = "GS405", "stale-gradients"
    listens_to = StaleGradients
    outcome = "silent"

    def message(self, event: StaleGradients) -> str:
        return f"gradients add up: nothing zeroes them before the step on {line_of(event.step, event.culprit)}"
