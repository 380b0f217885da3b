"""Findings as a terminal shows them."""

from __future__ import annotations

import io
import os
from pathlib import Path

from gradsense.cli.formats import write
from gradsense.cli.jobs import Job, run_job
from gradsense.cli.result import Result
from gradsense.config import Settings

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def first_of_examples() -> Result:
    """The first finding of `examples/train.py`."""
    folder = Path.cwd()
    os.chdir(EXAMPLES)
    try:
        result = run_job(Job(("train.py",), Settings()))
    finally:
        os.chdir(folder)
    result.findings = result.findings[:1]
    return result


def of_program(text: str, code: str) -> Result:
    """What one rule finds in a program, hints too."""
    result = run_job(Job(("train.py",), Settings(show_hints=True), data=text.encode()))
    result.findings = [finding for finding in result.findings if finding.code == code]
    return result


def as_shown(result: Result) -> str:
    """The findings as a terminal shows them, without the line that counts them."""
    out = io.StringIO()
    write("full", result, out)
    return out.getvalue().rpartition("Found ")[0].rstrip()
