"""Random edits, some 200 of them; `python -m lsp.soak` makes as many as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lsp.fuzzing import Trial, gathered
from lsp.wide import wide


@pytest.mark.parametrize("seed", range(10))
def test_after_random_edits_the_findings_are_those_of_a_fresh_analysis(seed: int, tmp_path: Path) -> None:
    program = random.Random(seed).choice(gathered())
    trial = Trial(program.files, tmp_path, seed)
    for number in range(20):
        trial.step()
        if number % 4 == 3:
            trial.pause()


@pytest.mark.parametrize("seed", range(6))
def test_after_edits_of_the_module_level_too(seed: int, tmp_path: Path) -> None:
    program = wide()[seed % 3]
    trial = Trial(program.files, tmp_path, 1_000 + seed, outer=0.6)
    for number in range(20):
        trial.step()
        if number % 4 == 3:
            trial.pause()
