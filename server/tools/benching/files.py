"""The files that all contestants read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gradsense.check import WORDS
from gradsense.config import Settings
from gradsense.discovery import find_files
from gradsense.syntax import Source, SourceError


@dataclass(frozen=True, eq=False)
class Measured:
    """One file.

    Args:
        root: the path it was found under.
        source: its text; of a notebook, the code of its cells.
        lines: how many lines that has.
    """

    root: str
    source: Source
    lines: int


@dataclass
class Gathered:
    """What there is to measure.

    Attributes:
        files: those that have anything to do with gradients.
        passed_by: how many have not: they are skipped at once, so to count their lines would flatter us.
        unreadable: why some were left out.
    """

    files: list[Measured]
    passed_by: int
    unreadable: list[str]

    @property
    def lines(self) -> int:
        """The lines of all files."""
        return sum(file.lines for file in self.files)


def gather(paths: Iterable[str]) -> Gathered:
    """Reads the files named and those of the folders named."""
    gathered = Gathered([], 0, [])
    for path in paths:
        names = find_files(path, Settings()) if os.path.isdir(path) else [path]
        for name in names:
            try:
                source = Source.from_path(name)
            except SourceError as error:
                gathered.unreadable.append(str(error))
                continue
            if any(word in source.text for word in WORDS):
                gathered.files.append(Measured(path, source, source.text.count("\n") + 1))
            else:
                gathered.passed_by += 1
    return gathered
