"""Real torch does with every notebook what its block says, and the checker says the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gradsense import check
from gradsense.rules.finding import Severity
from gradsense.syntax import Source
from notebooks.format import Notebook, read_all
from oracle import Oracle

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

NOTEBOOKS = read_all()
ALOUD = {Severity.ERROR, Severity.WARNING}
# Said, but not aloud: walking what another cell built is what cells are split for, though it cannot be done twice; and
# what a short loop gathers unwalked costs memory, but may be wanted.
NOT_SEEN = {"backward in a cell of its own::fault", "evaluation outputs gathered::fault"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[notebook.id for notebook in NOTEBOOKS])
def test_torch_does_what_the_block_says(notebook: Notebook, torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run(notebook.script)
    wanted = {"raises": "raises", "leaks": "grows"}.get(notebook.outcome, "clean")
    assert outcome.kind == wanted, outcome


def _case(notebook: Notebook) -> ParameterSet:
    marks = pytest.mark.xfail(strict=True, reason="not seen yet") if notebook.id in NOT_SEEN else ()
    return pytest.param(notebook, id=notebook.id, marks=marks)


@pytest.mark.parametrize("notebook", [_case(notebook) for notebook in NOTEBOOKS])
def test_prediction(notebook: Notebook, tmp_path: Path) -> None:
    source = Source.from_notebook(str(tmp_path / "main.ipynb"), notebook.json)
    said = [finding for finding in check.check_source(source).findings if finding.severity in ALOUD]
    lines = [f"{source.cell_at(f.span.line)} {f.code} {f.severity.value}: {f.message}" for f in said]
    if notebook.outcome == "clean":
        assert not lines
        return
    loud_enough = {Severity.ERROR} if notebook.outcome == "raises" and notebook.twice is None else ALOUD
    spots = {(f.code[:3], source.cell_at(f.span.line)) for f in said if f.severity in loud_enough}
    assert spots & {(mark.code[:3], (mark.cell, mark.line)) for mark in notebook.marks}, lines
