"""Each rule's page on real torch: the example does what it says, its twin runs clean, the fixes mend it."""

from __future__ import annotations

from typing import Any

import pytest

from gradsense.check import check_source
from gradsense.fixes.fix import Applicability, Fix
from gradsense.rules.base import Rule
from gradsense.rules.finding import Finding, Severity
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source, apply_edits
from oracle import Oracle

RULES = all_rules()
HEADINGS = ["## What happens", "## Fails", "## Mended", "## Not this", "## Fixes"]
# What the oracle calls each outcome of a page.
KINDS = {"raises": "raises", "grows": "grows", "silent": "clean", "clean": "clean"}

each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


def findings(text: str) -> list[Finding]:
    return check_source(Source.from_text("example.py", text)).findings


def said(found: list[Finding]) -> list[str]:
    """The findings that a person sees unasked, as lines for a failed test."""
    aloud = [f for f in found if f.severity in {Severity.ERROR, Severity.WARNING}]
    return [f"line {f.span.line} {f.code} {f.severity.value}: {f.message}" for f in aloud]


def offered(rule: Rule[Any]) -> list[Fix]:
    """The fixes for the example's findings of this rule, the first one first."""
    return [fix for finding in findings(rule.example) if finding.code == rule.code for fix in finding.fixes]


@each_rule
def test_the_page_has_all_its_parts(rule: Rule[Any]) -> None:
    assert [line for line in rule.page.splitlines() if line.startswith("## ")] == HEADINGS
    assert rule.summary.endswith(".") and len(rule.summary) < 100
    assert 4 <= len(rule.example.splitlines()) <= 32
    assert rule.mended


@each_rule
def test_torch_does_what_the_page_says(rule: Rule[Any], torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run(rule.example)
    assert outcome.kind == KINDS[rule.outcome], outcome
    if rule.outcome != "raises":
        return
    expected = [f.expected for f in findings(rule.example) if f.code == rule.code and f.expected]
    for text in expected:
        # `[…]` stands for what cannot be known before the program runs.
        real = f"{outcome.error_type}: {outcome.message}"
        assert all(part in real for part in text.split("[…]")), f"{text!r} was expected, torch says {real!r}"


@each_rule
def test_the_example_is_found(rule: Rule[Any]) -> None:
    found = findings(rule.example)
    assert rule.code in [f.code for f in found]
    assert {f.code for f in found if f.severity in {Severity.ERROR, Severity.WARNING}} <= {rule.code}, said(found)
    if rule.outcome == "raises":
        assert Severity.ERROR in [f.severity for f in found if f.code == rule.code], said(found)


@each_rule
def test_the_mended_twin_runs_clean_and_is_passed_over(rule: Rule[Any], torch_oracle: Oracle) -> None:
    assert torch_oracle.run(rule.mended).kind == "clean"
    found = findings(rule.mended)
    assert not said(found)
    assert rule.code not in [f.code for f in found]


@each_rule
def test_the_fixes_mend_the_example(rule: Rule[Any], torch_oracle: Oracle) -> None:
    fixes = offered(rule)
    assert fixes, "no fix is offered"
    assert len({fix.title for fix in fixes}) == len(fixes), "two fixes have one title"
    for index, fix in enumerate(fixes):
        if index and fix.applicability is Applicability.UNSAFE:
            continue
        text = apply_edits(rule.example, fix.edits)
        outcome = torch_oracle.run(text)
        assert outcome.kind == "clean", f"{fix.title}: {outcome}\n{text}"
        left = findings(text)
        assert rule.code not in [f.code for f in left], f"{fix.title}: {said(left)}\n{text}"
        assert not said(left), f"{fix.title}\n{text}"
