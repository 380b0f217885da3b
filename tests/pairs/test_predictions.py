"""The checker says of every program of the pairs what torch does with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pairs.format import MAIN, Program, read_all

check = pytest.importorskip("gradsense.check")

from gradsense.rules.finding import Severity  # noqa: E402
from gradsense.syntax import Source  # noqa: E402

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet
    from gradsense.rules.finding import Finding

PROGRAMS = read_all()
# Faults that the checker does not see yet, or says on another line: each is to be taken off the list when it does.
NOT_SEEN = set((Path(__file__).parent / "not_seen.txt").read_text(encoding="utf-8").splitlines())
ALOUD = {Severity.ERROR, Severity.WARNING}


def findings(program: Program, folder: Path) -> list[Finding]:
    """What the checker says aloud, with paths relative to the program."""
    if not program.others:
        report = check.check_source(Source.from_text(str(folder / MAIN), program.main))
    else:
        for name, text in program.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        paths = [folder / name for name in program.files]
        report = check.check_program(check.Project.for_paths([folder]), paths)
    return [finding for finding in report.findings if finding.severity in ALOUD]


def _case(program: Program) -> ParameterSet:
    seen = program.id not in NOT_SEEN
    return pytest.param(
        program, id=program.id, marks=() if seen else pytest.mark.xfail(strict=True, reason="not seen yet")
    )


def test_the_list_of_faults_not_seen_names_faults() -> None:
    assert NOT_SEEN <= {program.id for program in PROGRAMS if program.outcome != "clean"}


@pytest.mark.parametrize("program", [_case(program) for program in PROGRAMS])
def test_prediction(program: Program, tmp_path: Path) -> None:
    said = findings(program, tmp_path)
    lines = [f"{Path(f.path).name}:{f.span.line} {f.code} {f.severity.value}: {f.message}" for f in said]
    if program.outcome == "clean":
        assert not lines
        return
    loud_enough = {Severity.ERROR} if program.outcome == "raises" else ALOUD
    assert any(
        finding.severity in loud_enough
        and finding.code[:3] == mark.code[:3]
        and Path(finding.path).resolve() == (tmp_path / mark.file).resolve()
        and finding.span.line <= mark.line <= finding.span.end_line
        for finding in said
        for mark in program.marks
    ), f"wanted one of {program.marks}, got {lines}"
