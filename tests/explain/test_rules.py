"""Every error that a rule predicts is explained: the rules' examples, with the tracebacks that torch makes of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradsense.check import Project, check_program
from gradsense.explain.causes import CAUSES
from gradsense.explain.explaining import explain
from gradsense.explain.places import Places
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source

pytest.importorskip("torch")

RAISING = {code: rule for code, rule in all_rules().items() if rule.outcome == "raises"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rules")


@pytest.fixture(scope="module")
def texts(folder: Path) -> dict[str, str]:
    """What was to be seen in a terminal, by code."""
    for code, rule in RAISING.items():
        (folder / f"{code.lower()}.py").write_text(rule.example, encoding="utf-8")
    requests = [{"path": str(folder / f"{code.lower()}.py"), "manner": "terminal"} for code in RAISING]
    command = [sys.executable, str(Path(__file__).with_name("running.py"))]
    done = subprocess.run(
        command, input=json.dumps(requests), stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8"
    )
    return dict(zip(RAISING, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("code", RAISING)
def test_the_rule_is_named_and_its_line(code: str, folder: Path, texts: dict[str, str]) -> None:
    places = Places([str(folder)], None, Source.from_path)
    found = explain(texts[code], places, lambda paths: check_program(Project.for_paths(paths), list(paths)).findings)
    assert found is not None, texts[code]
    assert code in found.codes and found.code == code
    assert found.named and found.finding is not None and found.finding.fixes


def test_every_rule_of_a_raising_fault_has_a_cause_and_every_cause_names_rules_there_are() -> None:
    named = {code for cause in CAUSES for code in cause.codes}
    assert set(RAISING) <= named <= set(all_rules())
