"""Random edits, some 200 of them; `python -m lsp.soak` makes as many as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lsp.fuzzing import Trial, gathered


@pytest.mark.parametrize("seed", range(10))
def test_after_random_edits_the_findings_are_those_of_a_fresh_analysis(seed: int, tmp_path: Path) -> None:
    program = random.Random(seed).choice(gathered())
    trial = Trial(program.files, tmp_path, seed)
    for number in range(20):
        trial.step()
        if number % 4 == 3:
            trial.pause()
