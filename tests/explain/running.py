"""Runs programs that fail, and gives back what a person would have seen of each.

Reads a JSON list of {"path", "manner"} on standard input and writes the list of texts. Manners: `terminal`,
`anomaly` (under anomaly detection), `notebook` (a real IPython shell, a cell for each part between `# %%` lines),
`rich` (rich's boxes), `pytest`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch


def seen(path: str, manner: str) -> str:
    """The text on the screen."""
    screen = io.StringIO()
    os.chdir(Path(path).parent)
    os.environ["IPYTHONDIR"] = os.getcwd()
    sys.path[0] = os.getcwd()
    torch.manual_seed(0)
    before = set(sys.modules)
    with contextlib.redirect_stderr(screen), contextlib.redirect_stdout(io.StringIO()):
        if manner == "pytest":
            screen.write(in_pytest(path))
        elif manner == "rich":
            in_rich(path, screen)
        elif manner == "notebook":
            screen.write(in_notebook(Path(path).read_text(encoding="utf-8").split("# %%\n")))
        else:
            in_terminal(path, anomaly=manner == "anomaly")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(os.getcwd()):
            del sys.modules[name]
    return screen.getvalue()


def in_terminal(path: str, *, anomaly: bool) -> None:
    """Runs a script and prints its traceback as Python does."""
    warnings.simplefilter("always")
    try:
        with torch.autograd.set_detect_anomaly(anomaly):
            runpy.run_path(path, run_name="__main__")
    except Exception:
        traceback.print_exc()


def in_notebook(cells: list[str]) -> str:
    """Runs cells until one fails, and gives its traceback as a notebook stores it."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    stored: list[str] = []

    class Shell(InteractiveShell):
        def _showtraceback(self, kind: Any, error: Any, lines: list[str]) -> None:
            stored.extend(lines)

    shell = Shell(config=Config(HistoryManager={"hist_file": ":memory:"}))
    for cell in cells:
        if not shell.run_cell(cell, store_history=True).success:
            break
    return "\n".join(stored)


def in_rich(path: str, screen: io.StringIO) -> None:
    """Runs a script and prints its traceback in a box."""
    from rich.console import Console

    console = Console(file=screen, width=110, force_terminal=True)
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception:
        console.print_exception(width=110)


def in_pytest(path: str) -> str:
    """Runs a script as the body of a test."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    test = Path(path).with_name(f"test_{Path(path).name}")
    test.write_text("def test_it():\n" + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=yes", test.name]
    return subprocess.run(command, capture_output=True, text=True).stdout


if __name__ == "__main__":
    json.dump([seen(**one) for one in json.load(sys.stdin)], sys.stdout)
