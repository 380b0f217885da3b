"""Imports of files that are open in the editor and not saved: what is typed there is what is imported."""

from __future__ import annotations

import linecache
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import types
    from collections.abc import Sequence


class Unsaved(SourceFileLoader):
    """Loads a module from a text in memory."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> Any:
        """Compiles the text; the compiled form of what is on disk is left alone."""
        # Without a time of change, tracebacks take the lines from here rather than from the disk.
        linecache.cache[self.path] = (len(self._text), None, self._text.splitlines(True), self.path)
        return compile(self._text, self.path, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        """The text."""
        return self._text


class UnsavedFinder:
    """Finds modules as Python does, and gives those their loader whose text is in memory."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = {os.path.realpath(path): text for path, text in texts.items()}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is in memory; None for all others."""
        spec = PathFinder.find_spec(name, path, target)
        origin = None if spec is None else spec.origin
        text = None if origin is None else self._texts.get(os.path.realpath(origin))
        if spec is None or origin is None or text is None:
            return None
        spec.loader = Unsaved(name, origin, text)
        spec.cached = None
        return spec


def install(texts: dict[str, str]) -> None:
    """Puts texts in force, by the path of the file that each is of."""
    sys.meta_path.insert(0, UnsavedFinder(texts))
