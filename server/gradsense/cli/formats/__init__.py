"""The output formats of `gradsense check`: one file each, with one function `write(result, out)`."""

from __future__ import annotations

from importlib import import_module
from typing import TextIO

from gradsense.cli.result import Result


def write(name: str, result: Result, out: TextIO) -> None:
    """Writes a result in the format of that name, which is that of its module."""
    import_module(f"gradsense.cli.formats.{name}").write(result, out)
