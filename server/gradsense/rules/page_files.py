"""The rules' pages as files, which `server/tools/docs.py` makes and the package carries."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "pages"


def page_file(code: str) -> Path:
    """The file of a code's page; it may be missing for a code that there is not."""
    return _FOLDER / f"{code}.md"
