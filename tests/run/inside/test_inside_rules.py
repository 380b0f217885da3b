"""The examples of the rules, run: what the check predicts of them, the run confirms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gradsense.check import check_source
from gradsense.rules.base import Rule
from gradsense.rules.finding import Finding, Severity
from gradsense.rules.registry import all_rules
from gradsense.run.inside.faults import AUTOGRAD
from gradsense.run.spec import Predicted
from gradsense.syntax import Source

Probed = Callable[..., dict[str, Any]]
RULES = all_rules()
# Whether a gradient that comes out wrong without an error is seen by a run, or only its absence or its size is odd.
SEEN = {"GS405"}


def predictions(text: str, path: Path) -> list[dict[str, Any]]:
    found = check_source(Source.from_text(str(path), text)).findings
    return [asdict(predicted(item)) for item in found if item.severity in (Severity.ERROR, Severity.WARNING)]


def predicted(finding: Finding) -> Predicted:
    related = tuple(other.span.line for other in finding.related if other.path == finding.path)
    return Predicted(finding.code, finding.span.line, finding.path, related, finding.rerun, finding.behind)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_the_run_confirms_what_the_rule_says_of_its_example(rule: Rule[Any], probed: Probed, tmp_path: Path) -> None:
    expected = predictions(rule.example, tmp_path / "program.py")
    report = probed(rule.example, predictions=expected)
    verdicts = [item["verdict"] for item in report["predictions"] if item["code"] == rule.code]
    if rule.outcome in ("raises", "grows"):
        assert report["outcome"] == rule.outcome
        assert verdicts and set(verdicts) == {"confirmed"}, report["predictions"]
        assert not any("not predicted" in note for note in report["notes"])
    else:
        assert report["outcome"] == "clean"
        assert set(verdicts) <= ({"confirmed"} if rule.code in SEEN else {"not-observed"})


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_the_run_refutes_it_of_the_mended_twin(rule: Rule[Any], probed: Probed, tmp_path: Path) -> None:
    expected = predictions(rule.example, tmp_path / "program.py")
    report = probed(rule.mended, predictions=expected)
    assert report["outcome"] == "clean" and not report["silent"], report["error"] or report["silent"]
    assert "confirmed" not in [item["verdict"] for item in report["predictions"]]


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_an_error_that_a_rule_expects_is_one_of_autograds(rule: Rule[Any]) -> None:
    for finding in check_source(Source.from_text("example.py", rule.example)).findings:
        if finding.code == rule.code and finding.expected and "NoneType" not in finding.expected:
            assert AUTOGRAD.search(finding.expected), finding.expected
