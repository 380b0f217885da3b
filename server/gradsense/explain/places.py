"""Finds the lines of a traceback in the files of this machine, as they are now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from gradsense.explain.pasted import Frame
from gradsense.syntax import Source, SourceError


@dataclass(frozen=True, slots=True)
class Spot:
    """A frame's line in a file that was found.

    Args:
        path: the file.
        line: the line of the program, from 1, which may have moved since.
        frame: what the traceback says.
    """

    path: str
    line: int
    frame: Frame


class Places:
    """Where a traceback's files are.

    Args:
        folders: where to look for them, the likeliest first.
        program: the file that is open, or that the user named; notebook cells belong to it.
        read: reads a file's source; an editor gives its unsaved text.
        call: how a file that was found is called from then on.
    """

    def __init__(
        self,
        folders: Iterable[str],
        program: str | None,
        read: Callable[[str], Source],
        call: Callable[[str], str] = str,
    ) -> None:
        self._call = call
        self._folders = tuple(dict.fromkeys(folders))
        self.program = program
        self._read = read
        self._sources: dict[str, Source | None] = {}

    def source(self, path: str) -> Source | None:
        """A file's source, or None where it cannot be read."""
        if path not in self._sources:
            try:
                self._sources[path] = self._read(path)
            except (OSError, SourceError):
                self._sources[path] = None
        return self._sources[path]

    def spots(self, frames: Iterable[Frame]) -> tuple[Spot, ...]:
        """The frames that lie in the person's own files, in their order."""
        found = (self.spot(frame) for frame in frames if frame.is_users)
        return tuple(spot for spot in found if spot is not None)

    def spot(self, frame: Frame) -> Spot | None:
        """One frame's line, or None where its file is not here."""
        path = self.program if frame.cell is not None else self._found(frame.path)
        source = self.source(path) if path is not None else None
        if path is None or source is None:
            return None
        line = _line_now(source, frame)
        return Spot(path, line, frame) if line is not None else None

    def _found(self, named: str) -> str | None:
        path = self._file(named)
        return path if path is None or path == self.program else self._call(path)

    def _file(self, named: str) -> str | None:
        here = os.path.expanduser(named)
        if self.program is not None and _same_file(here, self.program):
            return self.program
        if os.path.isabs(here) and os.path.isfile(here):
            return here
        # `os.fspath` of a Windows path keeps its backslashes; parts know both kinds.
        parts = (PureWindowsPath if "\\" in named else PurePosixPath)(named).parts
        if any(part == ".." for part in parts):
            return None
        for count in range(len(parts), 0, -1):
            for folder in self._folders:
                path = os.path.join(folder, *parts[-count:])
                if os.path.isfile(path):
                    return path
        if self.program is not None and parts and os.path.basename(self.program) == parts[-1]:
            return self.program
        return None


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _line_now(source: Source, frame: Frame) -> int | None:
    """The line that has the frame's text, the nearest to where it was; without a text, the line itself."""
    if frame.cell is not None and source.cells:
        return _line_in_cells(source, frame)
    if frame.text:
        same = [number for number, line in enumerate(source.lines, 1) if line.strip() == frame.text]
        if same:
            return min(same, key=lambda number: abs(number - frame.line))
        if frame.cell is not None:
            return None
    return frame.line if frame.line <= len(source.lines) else None


def _line_in_cells(source: Source, frame: Frame) -> int | None:
    """Cells go by their text: the count of their execution is not in the program."""
    candidates = []
    for cell in source.cells:
        line = cell.first_line + frame.line - 1
        if line > cell.last_line:
            continue
        if not frame.text or source.lines[line - 1].strip() == frame.text:
            candidates.append(line)
    if candidates and (frame.text or len(candidates) == 1):
        return candidates[-1]
    same = [number for number, line in enumerate(source.lines, 1) if frame.text and line.strip() == frame.text]
    return same[-1] if same else None
