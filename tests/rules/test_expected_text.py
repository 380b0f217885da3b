"""The text that a finding expects is what torch says, for every fault of the pairs that is found and raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradsense.rules.torch_says import UNKNOWN
from oracle import Oracle
from pairs.format import Program, read_all
from pairs.test_predictions import findings

FAULTS = [program for program in read_all() if program.outcome == "raises"]


def fits(text: str, real: str) -> bool:
    """Whether all that a text knows is in what torch said, in that order."""
    start = 0
    for part in text.split(UNKNOWN):
        start = real.find(part, start)
        if start < 0:
            return False
        start += len(part)
    return True


@pytest.mark.parametrize("program", FAULTS, ids=[program.id for program in FAULTS])
def test_torch_says_what_is_expected(program: Program, tmp_path: Path, torch_oracle: Oracle) -> None:
    said = findings(program, tmp_path)
    texts = [finding.expected for finding in said if finding.expected]
    if not texts:
        pytest.skip("nothing is expected here")
    outcome = torch_oracle.run(program.main, program.others)
    real = f"{outcome.error_type}: {outcome.message}"
    # Of several errors that are foreseen, torch comes to one.
    assert any(fits(text, real) for text in texts), f"torch says {real!r}, not one of {texts}"
