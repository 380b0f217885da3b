"""A fault of GradSense itself costs as little as it can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from gradsense.check import Report, check_source
from gradsense.fixes.fix import Applicability, Fix
from gradsense.machine import conclude
from gradsense.machine.library import builtin
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source, Span, TextEdit
from robustness.checking import FAULT, HEAD, LIMITS


def fails(*arguments: object, **keywords: object) -> NoReturn:
    """Stands for what has a fault."""
    raise ZeroDivisionError("ours")


def check(text: str) -> Report:
    """Checks a program with a fault of its own at the end."""
    return check_source(Source.from_text("train.py", HEAD + text + FAULT), limits=LIMITS)


def test_a_statement_on_which_the_machine_fails_is_lost_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin._FUNCTIONS, "len", fails)
    report = check("n = 1\nfor i in range(2):\n    n = len([1])\n    m = 2\n")
    assert report.failures == ["train.py:5: ZeroDivisionError: ours"] * 2
    assert [finding.code for finding in report.findings] == ["GS101"]


def test_a_conclusion_that_fails_leaves_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conclude, "conclude", fails)
    report = check("")
    assert len(report.failures) == 1
    assert [finding.code for finding in report.findings] == ["GS101"]


def test_a_rule_that_fails_leaves_the_other_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(all_rules()["GS101"]), "message", fails)
    report = check("x = torch.ones(3, requires_grad=True)\nx.detach()\n")
    assert report.failures == ["train.py:9: ZeroDivisionError: ours (GS101)"]
    assert [finding.code for finding in report.findings] == ["GS406"]


def test_a_fix_that_fails_leaves_the_finding_and_the_fixes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fix = Fix("first", Applicability.SAFE, (TextEdit("train.py", Span(1, 0, 1, 0), "x"),), preferred=True)

    def fixes(rule: object, event: Any) -> Iterator[Fix]:
        yield fix
        fails()

    monkeypatch.setattr(type(all_rules()["GS101"]), "fixes", fixes)
    [finding] = check("").findings
    assert finding.fixes == (fix,)
