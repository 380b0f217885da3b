"""A real Emacs with eglot, without a window, at the other end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lsp.editor import FAKE, REAL
from lsp.test_training_script import FAULTS, SCRIPT
from oracle import Oracle

LISP = Path(__file__).with_name("eglot.el")
EMACS = shutil.which("emacs")


def has_eglot() -> bool:
    """Whether there is an Emacs that has eglot."""
    if EMACS is None:
        return False
    asked = [EMACS, "-q", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    return subprocess.run(asked, capture_output=True, timeout=60).returncode == 0


pytestmark = pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with eglot")


def drive(file: Path, command: Sequence[str], faults: int) -> dict[str, Any]:
    """Opens a file in Emacs with a server, mends all that has a preferred fix, saves, and returns the report.

    Args:
        faults: how many squiggles it waits for before it begins.
    """
    assert EMACS is not None
    report = file.with_suffix(".report.json")
    environment = {
        **os.environ,
        "HOME": str(file.parent),
        "GRADSENSE_TEST_SERVER": json.dumps(list(command)),
        "GRADSENSE_TEST_FILE": str(file),
        "GRADSENSE_TEST_REPORT": str(report),
        "GRADSENSE_TEST_FAULTS": str(faults),
    }
    arguments = [EMACS, "-q", "--batch", "-l", str(LISP)]
    done = subprocess.run(arguments, env=environment, cwd=file.parent, capture_output=True, text=True, timeout=180)
    assert report.exists(), done.stderr
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert not found["failure"], (found, done.stderr)
    return found


def test_squiggles_hover_and_fixes(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("x = '😀é'; BAD\nok\nBAD\n", encoding="utf-8")
    report = drive(file, FAKE, 2)
    assert [(found["line"], found["text"]) for found in report["before"]] == [(1, "BAD"), (3, "BAD")]
    assert "inplace-on-saved" in report["hover"]
    assert report["applied"] == ["Make it good", "Make it good"]
    assert file.read_text(encoding="utf-8") == "x = '😀é'; GOOD\nok\nGOOD\n"


def test_a_training_script(tmp_path: Path, torch_oracle: Oracle) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    report = drive(file, REAL, len(FAULTS))
    assert {code for code in FAULTS if any(code in found["message"] for found in report["before"])} == FAULTS
    assert "gate += 1.0" in [found["text"] for found in report["before"]]
    assert torch_oracle.run(file.read_text(encoding="utf-8")).kind == "clean"
