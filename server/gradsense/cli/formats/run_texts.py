"""The files that a run's report speaks of: their texts, and what they are called for a person."""

from __future__ import annotations

from collections.abc import Mapping

from gradsense.cli.result import from_here
from gradsense.regions import place
from gradsense.syntax import Source, SourceError, Span


class Texts:
    """Reads files when they are asked for.

    Args:
        main: the program that ran.
        others: what no file holds, such as a notebook's cells in a kernel, by path, with the name to show.

    Attributes:
        by_name: what was read, by the name that is shown.
    """

    def __init__(self, main: Source, others: Mapping[str, tuple[str, Source]] | None = None) -> None:
        self.main = main
        self.by_name: dict[str, Source] = {}
        self._names: dict[str, str] = {}
        for path, (name, source) in (others or {}).items():
            self._names[path] = name
            self.by_name[name] = source

    def name(self, path: str) -> str:
        """What a file is called: its path from the current folder, where it lies in it."""
        if path not in self._names:
            self._names[path] = from_here(path) or path
        return self._names[path]

    def source(self, path: str) -> Source | None:
        """The text of a file; None where it cannot be read."""
        name = self.name(path)
        if name in self.by_name:
            return self.by_name[name]
        if path == self.main.path:
            self.by_name[name] = self.main
        else:
            try:
                self.by_name[name] = Source.from_path(path)
            except SourceError:
                return None
        return self.by_name[name]

    def line(self, path: str, line: int) -> str:
        """The text of a line, or nothing."""
        source = self.source(path)
        return source.lines[line - 1] if source is not None and 1 <= line <= len(source.lines) else ""

    def where(self, path: str, line: int) -> str:
        """A line as terminals link it: `train.py:14`, `a.ipynb:cell 3:2`."""
        self.source(path)
        return place(self.by_name, self.name(path), Span(line, 0, line, 0)).rpartition(":")[0]
