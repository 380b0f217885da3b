"""Faults that only who takes the right branches meets: the checker cannot know that torch does, but warns of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle import Oracle
from pairs.format import Program, read
from pairs.test_predictions import findings

PROGRAMS = [program for path in sorted((Path(__file__).parent / "branches").glob("*.md")) for program in read(path)]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.id for program in PROGRAMS])
def test_torch_does_what_the_block_says(program: Program, torch_oracle: Oracle) -> None:
    assert torch_oracle.run(program.main).kind == ("clean" if program.outcome == "clean" else "raises")


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.id for program in PROGRAMS])
def test_the_fault_is_told(program: Program, tmp_path: Path) -> None:
    said = [(finding.code, finding.span.line) for finding in findings(program, tmp_path)]
    assert said == [(mark.code, mark.line) for mark in program.marks]
