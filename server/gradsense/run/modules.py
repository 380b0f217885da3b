"""Finds a module by its name without importing anything, as `python -m` would."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_LOOK_LIMIT = 30.0
_LOOK = "import json, sys; print(json.dumps([entry for entry in sys.path if entry]))"


@dataclass(frozen=True)
class Module:
    """A module that can be run.

    Args:
        name: what it is called, with `.__main__` where a package was named.
        path: its file.
        root: the folder that the name starts from.
    """

    name: str
    path: str
    root: str


def find_module(name: str, folders: Sequence[str]) -> Module | None:
    """A module of that name, in the first folder that has one; of a package it is the `__main__` in it."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for root in folders:
        base = os.path.join(root, *parts)
        for path, called in ((os.path.join(base, "__main__.py"), f"{name}.__main__"), (f"{base}.py", name)):
            if os.path.isfile(path):
                return Module(called, os.path.abspath(path), os.path.abspath(root))
    return None


def search_path(python: str) -> list[str]:
    """Where an interpreter looks for modules; nothing where it does not say."""
    try:
        told = subprocess.run(
            [python, "-c", _LOOK], capture_output=True, timeout=_LOOK_LIMIT, check=True, stdin=subprocess.DEVNULL
        ).stdout
        folders = json.loads(told.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return []
    return [folder for folder in folders if isinstance(folder, str)]
