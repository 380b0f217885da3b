"""Where a project's folder is."""

from __future__ import annotations

import os

ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""What such a folder holds."""


def project_root(folder: str) -> str:
    """The nearest folder above that a project starts in, or the folder itself."""
    start = os.path.abspath(folder)
    current = start
    while True:
        if any(os.path.exists(os.path.join(current, mark)) for mark in ROOT_MARKS):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return start
        current = parent
