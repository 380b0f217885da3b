"""What the first fix makes of the programs in `repairs.md`, and that torch then runs them clean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradsense.check import check_source
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, apply_edits
from oracle import Oracle

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
ENTRY = re.compile(
    r"^## (?P<code>GS\d{3}|Nothing): (?P<name>[^\n]+)\n\n"
    r"```python\n(?P<program>.*?)^```\n"
    r"(?:\n```text\n(?P<lines>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Case:
    """A program, and what its first fix makes of it.

    Attributes:
        code: the rule, or `Nothing`.
        name: what is special about the program.
        text: the program.
        lines: the lines that the fix brings.
    """

    code: str
    name: str
    text: str
    lines: tuple[str, ...]


def read() -> list[Case]:
    """The entries of the markdown file beside this one."""
    page = Path(__file__).with_name("repairs.md").read_text(encoding="utf-8")
    cases = [
        Case(match["code"], match["name"], HEAD + match["program"], tuple((match["lines"] or "").splitlines()))
        for match in ENTRY.finditer(page)
    ]
    assert len(cases) == page.count("\n## "), "an entry does not keep to the format"
    return cases


def findings(text: str) -> list[Finding]:
    return check_source(Source.from_text("main.py", text)).findings


CASES = [case for case in read() if case.code != "Nothing"]
QUIET = [case for case in read() if case.code == "Nothing"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code} {case.name}" for case in CASES])
def test_the_first_fix_mends_it(case: Case, torch_oracle: Oracle) -> None:
    found = [finding for finding in findings(case.text) if finding.code == case.code]
    assert found and found[0].fixes, "no fix is offered"
    mended = apply_edits(case.text, found[0].fixes[0].edits)
    assert set(case.lines) <= set(mended.split("\n")), mended
    outcome = torch_oracle.run(mended)
    assert outcome.kind == "clean", f"{outcome}\n{mended}"
    assert case.code not in [finding.code for finding in findings(mended)], mended


@pytest.mark.parametrize("case", QUIET, ids=[case.name for case in QUIET])
def test_nothing_is_said(case: Case) -> None:
    assert not [finding for finding in findings(case.text) if finding.code[:3] in {"GS3", "GS4", "GS5"}]
