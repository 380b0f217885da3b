"""Fixes mend faults that nobody wrote them for: those of the pairs, on real torch.

A sample runs here; `python -m rules.mending`, in `tests/`, runs all.
"""

from __future__ import annotations

import hashlib

from oracle import Oracle
from rules.mending import faults, figures, try_fixes

SAMPLE = 60


def test_most_faults_are_offered_a_fix_that_mends_them(torch_oracle: Oracle) -> None:
    # By a hash, so that the sample is spread over all kinds and hardly changes where pairs are added.
    sample = sorted(faults(), key=lambda program: hashlib.sha256(program.id.encode()).digest())[:SAMPLE]
    results = [try_fixes(program, torch_oracle) for program in sample]
    count = figures(results)
    unmended = [f"{result.program.id}: {result.said}" for result in results if result.offered and not result.clean]
    without = [result.program.id for result in results if result.found and not result.offered]
    assert count["offered"] >= 0.85 * count["found"], without
    assert count["clean"] >= 0.9 * count["offered"], unmended
