"""Programs of a hundred thousand lines: read to their end, and what stands at their beginning is found."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.syntax import Source
from robustness.checking import FAULT, HEAD, lines

LONG = {
    "functions": "".join(f"def f{i}(x, y=2):\n    h = x * y\n    return h.sum()\n\n" for i in range(25_000)),
    "data": "TABLE = [\n" + lines(100_000, "    ({i}, 2.5, 'abc', None),") + "]\n",
    "errors": ("x = torch.ones(3)\n" * 199 + "def (:\n") * 500,
}


@pytest.mark.parametrize("name", LONG)
def test_a_hundred_thousand_lines(name: str) -> None:
    text = HEAD + FAULT + LONG[name]
    assert text.count("\n") > 100_000
    report = check_source(Source.from_text("train.py", text))
    assert [finding.code for finding in report.findings] == ["GS101"]
    assert report.findings[0].fixes
    assert report.failures == []
    assert all(len(note.message) < 200 for note in report.notes)
