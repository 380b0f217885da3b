"""Imports of files that are open in the editor and not saved: what is typed there is what is imported."""

from __future__ import annotations

import linecache
import os
from importlib.machinery import SourceFileLoader
from typing import Any


def install(texts: dict[str, str]) -> None:
    """Puts texts in force, by the path of the file that each is of.

    All loaders of source files read them in place of what is on disk, also those of the probe, which derive from
    Python's.
    """
    held = {os.path.realpath(path): text for path, text in texts.items()}
    read: Any = SourceFileLoader.get_data
    stats: Any = SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        text = held.get(os.path.realpath(path))
        if text is None:
            data: bytes = read(self, path)
            return data
        # Without a time of change, tracebacks take the lines from here rather than from the disk.
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        return text.encode("utf-8", "surrogatepass")

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.realpath(path) in held:
            raise OSError("the compiled form on disk is of another text")
        return stats(self, path)

    for name, function in (("get_data", get_data), ("path_stats", path_stats)):
        setattr(SourceFileLoader, name, function)
