"""Tracebacks that torch itself made: the cause, the line that failed, the rule and the line to change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from explain.programs import NAN, PROGRAMS, Failing
from gradsense.check import Project, check_program
from gradsense.explain.explaining import Explanation, explain
from gradsense.explain.places import Places
from gradsense.syntax import Source

pytest.importorskip("torch")

Texts = Mapping[tuple[str, str], str]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def texts(folder: Path) -> Texts:
    """What was to be seen of each program, by its name and the manner it was run in."""
    wanted: list[tuple[str, str]] = [(name, manner) for name in PROGRAMS for manner in ("terminal", "notebook")]
    wanted += [("in place", "anomaly"), ("carried", "anomaly"), ("nan", "anomaly")]
    wanted += [("in place", "rich"), ("in place", "pytest")]
    for name, failing in {**PROGRAMS, "nan": NAN}.items():
        _path(folder, name).write_text(failing.program, encoding="utf-8")
    requests = [{"path": str(_path(folder, name)), "manner": manner} for name, manner in wanted]
    command = [sys.executable, str(Path(__file__).with_name("running.py"))]
    done = subprocess.run(
        command, input=json.dumps(requests), stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8"
    )
    return dict(zip(wanted, json.loads(done.stdout), strict=True))


def _path(folder: Path, name: str) -> Path:
    return folder / f"case_{name.replace(' ', '_')}.py"


def _explained(text: str, folder: Path, program: Path | None = None) -> Explanation:
    places = Places([str(folder)], str(program) if program else None, Source.from_path)
    found = explain(text, places, lambda paths: check_program(Project.for_paths(paths), list(paths)).findings)
    assert found is not None, text
    return found


def _agrees(found: Explanation, failing: Failing) -> None:
    assert found.cause.name == failing.cause
    assert found.trace[-1].line == failing.line("FAILS")
    assert found.code == failing.code
    if failing.code is not None:
        assert found.named and found.finding is not None
        assert found.finding.span.line == failing.line("CAUSE")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_terminal(name: str, folder: Path, texts: Texts) -> None:
    _agrees(_explained(texts[name, "terminal"], folder), PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_notebook(name: str, folder: Path, texts: Texts) -> None:
    text = texts[name, "notebook"]
    assert "\x1b[" in text
    _agrees(_explained(text, folder, _path(folder, name)), PROGRAMS[name])


@pytest.mark.parametrize("name", ["in place", "carried"])
def test_anomaly_mode_adds_the_line_that_saved(name: str, folder: Path, texts: Texts) -> None:
    found = _explained(texts[name, "anomaly"], folder)
    _agrees(found, PROGRAMS[name])
    assert found.forward
    assert any("Anomaly mode blames" in fact for fact in found.facts)


def test_boxes_drawn_by_rich(folder: Path, texts: Texts) -> None:
    text = texts["in place", "rich"]
    assert "❱" in text
    _agrees(_explained(text, folder), PROGRAMS["in place"])


def test_the_report_of_a_test(folder: Path, texts: Texts) -> None:
    text = texts["in place", "pytest"]
    failing = PROGRAMS["in place"]
    found = _explained(text, folder)
    assert (found.code, found.trace[-1].line) == ("GS201", failing.line("FAILS") + 1)  # type: ignore[operator]
    assert found.named and found.finding is not None
    assert found.finding.span.line == failing.line("CAUSE") + 1  # type: ignore[operator]


def test_a_nan_is_shown_at_its_forward_line(folder: Path, texts: Texts) -> None:
    found = _explained(texts["nan", "anomaly"], folder)
    _agrees(found, NAN)
    assert found.forward[-1].line == NAN.line("SAVED")


def test_a_traceback_from_another_machine(folder: Path, texts: Texts, tmp_path: Path) -> None:
    text = texts["in place", "terminal"].replace(str(folder), "/home/someone/project")
    _agrees(_explained(text, folder), PROGRAMS["in place"])


def test_lines_that_have_moved_since(folder: Path, texts: Texts, tmp_path: Path) -> None:
    failing = PROGRAMS["in place"]
    (tmp_path / "case_in_place.py").write_text(f"# new\n# lines\n{failing.program}", encoding="utf-8")
    text = texts["in place", "terminal"].replace(str(folder), str(tmp_path))
    found = _explained(text, tmp_path)
    assert found.named and found.finding is not None
    assert (found.finding.span.line, found.trace[-1].line) == (failing.line("CAUSE") + 2, failing.line("FAILS") + 2)  # type: ignore[operator]


def test_one_rank_of_many(folder: Path, texts: Texts) -> None:
    text = "".join(f"[rank1]: {line}" for line in texts["carried", "terminal"].splitlines(keepends=True))
    _agrees(_explained(text, folder), PROGRAMS["carried"])


def test_quoted_in_a_mail(folder: Path, texts: Texts) -> None:
    text = "It fails!\n\n" + "".join(f"> {line}" for line in texts["carried", "terminal"].splitlines(keepends=True))
    _agrees(_explained(text, folder), PROGRAMS["carried"])


def test_a_real_command(folder: Path, texts: Texts, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from gradsense.cli.main import main

    log = tmp_path / "log.txt"
    log.write_text(texts["in place", "terminal"], encoding="utf-8")
    assert main(["explain", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "GS201 inplace-on-saved" in shown and "Write `h` out of place" in shown
    assert main(["explain", str(log), "--output-format", "json"]) == 0
    told: Any = json.loads(capsys.readouterr().out)
    failing = PROGRAMS["in place"]
    assert (told["code"], told["finding"]["line"]) == ("GS201", failing.line("CAUSE"))
    assert told["fails"]["line"] == failing.line("FAILS")
    assert told["finding"]["fixes"][0]["edits"]
