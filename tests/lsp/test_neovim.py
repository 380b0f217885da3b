"""A real Neovim, headless, at the other end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lsp.editor import FAKE

SCRIPT = Path(__file__).with_name("neovim.lua")
NVIM = shutil.which("nvim", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

pytestmark = pytest.mark.skipif(NVIM is None, reason="there is no nvim")


def drive(file: Path, command: Sequence[str], faults: int) -> dict[str, Any]:
    """Opens a file in Neovim with a server, mends all that has a preferred fix, saves, and returns the report.

    Args:
        faults: how many squiggles it waits for before it begins.
    """
    assert NVIM is not None
    report = file.with_suffix(".report.json")
    environment = {
        **os.environ,
        "GRADSENSE_TEST_SERVER": json.dumps(list(command)),
        "GRADSENSE_TEST_REPORT": str(report),
        "GRADSENSE_TEST_FAULTS": str(faults),
        "XDG_STATE_HOME": str(file.parent / "state"),
    }
    arguments = [NVIM, "--clean", "--headless", "-n", str(file), "-c", f"luafile {SCRIPT}"]
    done = subprocess.run(arguments, env=environment, cwd=file.parent, capture_output=True, text=True, timeout=90)
    assert report.exists(), done.stderr
    found: dict[str, Any] = json.loads(report.read_text())
    assert "failure" not in found, (found, done.stderr)
    return found


def test_squiggles_hover_and_fixes(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("x = '😀é'; BAD\nok\nBAD\n", encoding="utf-8")
    report = drive(file, FAKE, 2)
    assert [(found["line"], found["text"]) for found in report["before"]] == [(1, "BAD"), (3, "BAD")]
    assert "inplace-on-saved" in report["hover"]
    assert report["applied"] == ["Make it good", "Make it good"]
    assert report["after"] == []
    assert file.read_text(encoding="utf-8") == "x = '😀é'; GOOD\nok\nGOOD\n"
