"""Where the packages of a Python are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache

from gradsense.run.interpreters import NoInterpreter, choose, clean_environment

_LIMIT = 15.0
# Isolated: nothing of the folder it is started in, nor of the environment variables, can be imported.
_LOOK = "import json, sys, sysconfig; print(json.dumps([sys.path, sysconfig.get_path('stdlib')]))"


@dataclass(frozen=True)
class Packages:
    """The folders that imports are found in, and that of the standard library."""

    path: tuple[str, ...]
    library: str


def own_packages() -> Packages:
    """Those of our own Python."""
    return Packages(tuple(entry for entry in sys.path if entry), sysconfig.get_path("stdlib"))


def packages_of(interpreter: str | None, folder: str) -> Packages:
    """Those of the person's Python, which is started once to tell them; of our own where there is none to be had.

    Args:
        interpreter: the executable, or the folder of an environment, that was asked for; None to search.
        folder: the folder of the workspace.
    """
    try:
        chosen = choose(interpreter, os.path.join(folder, "program.py"))
    except NoInterpreter:
        return own_packages()
    return _asked(chosen.path) or own_packages()


@cache
def _asked(executable: str) -> Packages | None:
    try:
        done = subprocess.run(
            [executable, "-I", "-c", _LOOK],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT,
            check=True,
            cwd=os.path.dirname(executable),
            env=clean_environment(os.environ),
        )
        path, library = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    return Packages(tuple(str(entry) for entry in path if entry), str(library))
