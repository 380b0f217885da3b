"""A safe fix keeps what the program computes, on real torch.

A sample runs here; `python -m rules.same`, in `tests/`, runs all.
"""

from __future__ import annotations

import hashlib

import pytest

from gradsense.check import check_source
from gradsense.fixes.fix import Applicability
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source
from oracle import Oracle
from rules.same import compare, programs

SAMPLE = 90


def test_safe_fixes_change_nothing_that_is_left_at_the_end(torch_oracle: Oracle) -> None:
    every = programs()
    pages = [key for key in every if key.startswith("page::")]
    # By a hash, so that the sample is spread over all kinds and hardly changes where pairs are added.
    pairs = sorted(every.keys() - set(pages), key=lambda key: hashlib.sha256(key.encode()).digest())[:SAMPLE]
    compared = [
        (key, fix.title, changes) for key in (*pages, *pairs) for _, fix, changes in compare(every[key], torch_oracle)
    ]
    assert len(compared) > 30
    assert not [entry for entry in compared if entry[2]]


@pytest.mark.parametrize(
    "rule", [rule for rule in all_rules().values() if rule.outcome == "silent"], ids=lambda r: r.code
)
def test_no_fix_of_a_silent_fault_is_called_safe(rule) -> None:  # type: ignore[no-untyped-def]
    findings = check_source(Source.from_text("example.py", rule.example)).findings
    fixes = [fix for finding in findings if finding.code == rule.code for fix in finding.fixes]
    assert fixes and all(fix.applicability is Applicability.UNSAFE for fix in fixes)
