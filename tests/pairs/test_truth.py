"""Real torch does with every program of the pairs what its block says."""

from __future__ import annotations

import pytest

from oracle import Oracle
from pairs.format import Program, read_all

PROGRAMS = read_all()


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.id for program in PROGRAMS])
def test_torch_does_what_the_block_says(program: Program, torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run(program.main, program.others)
    if program.outcome == "raises":
        assert outcome.kind == "raises", outcome
        known = {"RuntimeError", "TypeError", "AttributeError", "ValueError", "NotImplementedError"}
        assert outcome.error_type in known, outcome
    elif program.outcome == "leaks":
        assert outcome.kind == "grows", outcome
    else:
        assert outcome.kind == "clean", outcome


def test_titles_differ() -> None:
    faults = [program.id for program in PROGRAMS if "::fault" in program.id]
    assert not [id for id in faults if id.endswith(tuple("23456789"))]
