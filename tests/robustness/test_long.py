"""Programs of a hundred thousand lines: read to their end, and what stands at their beginning is found."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.machine.limits import Limits
from gradsense.syntax import Source
from robustness.checking import FAULT, HEAD, lines

# On a busy machine too the path gets to the fault.
PATIENT = Limits(seconds=120)
LONG = {
    "statements": "x = torch.ones(3)\ny = x + 1\nif y.sum() > 2:\n    z = y * 2\n" * 25_000,
    "data": "TABLE = [\n" + lines(100_000, "    ({i}, 2.5, 'abc', None),") + "]\n",
    "errors": ("x = torch.ones(3)\n" * 199 + "def (:\n") * 500,
}


@pytest.mark.parametrize("name", LONG)
def test_a_hundred_thousand_lines(name: str) -> None:
    text = HEAD + FAULT + LONG[name]
    assert text.count("\n") > 100_000
    report = check_source(Source.from_text("train.py", text), limits=PATIENT)
    assert [finding.code for finding in report.findings] == ["GS101"]
    assert report.findings[0].fixes
    assert report.failures == []
    assert all(len(note.message) < 200 for note in report.notes)
