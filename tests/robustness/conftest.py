"""The command line in an empty folder, where what it says never is a traceback."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsense.cli.main import main
from robustness.checking import BOUND

Gradsense = Callable[..., tuple[int, str]]


@pytest.fixture
def gradsense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Gradsense:
    """Runs `gradsense check` and gives its exit code and all that it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        start = time.monotonic()
        code = main(["check", *arguments])
        assert time.monotonic() - start < BOUND
        out, err = capsysbinary.readouterr()
        said = (out + err).decode(errors="replace")
        assert code in (0, 1, 2)
        assert "Traceback" not in said and "internal error" not in said
        return code, said

    return run
