"""Anomaly detection is left on."""

from __future__ import annotations

from gradsense.machine.events import AnomalyOn
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity


class AnomalyLeftOn(Rule[AnomalyOn]):
    code, name = "GS501", "anomaly-left-on"
    listens_to = AnomalyOn
    outcome = "clean"

    def severity(self, event: AnomalyOn) -> Severity:
        return Severity.INFORMATION

    def message(self, event: AnomalyOn) -> str:
        return "anomaly detection makes each step much slower: switch it off when the fault is found"
