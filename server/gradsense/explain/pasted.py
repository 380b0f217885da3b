"""Reads what a person pastes: terminal output, a notebook's output, a log, a test report.

All that is known about the text is that a traceback is somewhere in it, so reading is loose: escape sequences, frames
drawn around it, and prefixes of launchers are taken off, and each way to write a frame is tried on each line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_STRIPPED_ESCAPES = re.compile(r"(?:^|(?<=\W))\[(?:\d{1,2}(?:;\d{1,3})*)m|␛\[[0-9;]*m")
_BOX = re.compile(r"^[│┃]\s?|\s*[│┃]$")
_RANK = re.compile(r"^(?:\[rank\d+\]|\[\d+\]|\(\w+ pid=\d+\)|[EW] {3,})[: ]? ?")
_HEADER = re.compile(r"Traceback \(most recent call last\)")

_PYTHON = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
_IPYTHON = re.compile(
    r"^File (?P<path><ipython-input-(?P<cell>\d+)-\w+>|[^\"].*?):(?P<line>\d+)(?:, in (?P<name>.*))?$"
)
_CELL = re.compile(r"^(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<line>\d+))?(?:, in (?P<name>.*))?$")
_CELL_LINE = re.compile(r"<cell line: (\d+)>")
_OLD_IPYTHON = re.compile(
    r"^\[?(?P<path><ipython-input-(?P<cell>\d+)-\w+>|[~/\w.\\:-]+\.py|\S*ipykernel_\S+)\]?(?:\(https?://\S*\))?"
    r" in (?P<name>\S.*)$"
)
_PYTEST = re.compile(r"^(?P<path>[^\s:]+\.py):(?P<line>\d+): ?(?:in (?P<name>\S+)|[\w.]*)$")
_RICH = re.compile(r"^(?P<path>\S+\.py):(?P<line>\d+) in (?P<name>\S+)$")
_ARROW = re.compile(r"^\s*(?:-+>|❱)\s*(?P<line>\d+)(?: (?P<text>.*))?$")
_NUMBERED = re.compile(r"^\s*\d+( .*)?$")
_POINTER = re.compile(r"^\s*[\^~]+\s*$")
_RAISED = re.compile(r"(?:.*\s)?((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt)): ?")

_FORWARD = "Traceback of forward call that"
_FORWARD_ENDS = ("(Triggered internally", "Traceback (most recent", "-----")
_LIBRARIES = re.compile(
    r"[\\/](?:site-packages|dist-packages)[\\/]|[\\/]lib(?:64)?[\\/]python\d|[\\/]Python\d+[\\/]lib[\\/]|^<frozen |"
    r"(?:^|[\\/])torch[\\/](?:_tensor|tensor|_jit_internal|autograd|nn|optim|utils|amp|distributed|_dynamo|_ops|random)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback.

    Args:
        path: the file, as the traceback names it; empty for a notebook's cell.
        line: the line in the file or cell, from 1.
        name: the function, empty where it is not told.
        text: the line's text, empty where it is not told.
        cell: the cell's execution count, for a notebook's cell.
    """

    path: str
    line: int
    name: str = ""
    text: str = ""
    cell: int | None = None

    @property
    def is_users(self) -> bool:
        """Whether it lies in the person's own code, and not in a library."""
        if self.cell is not None:
            return True
        return not self.path.startswith("<") and not _LIBRARIES.search(self.path)


class Pasted:
    """A pasted text that can be searched as if its lines had not been wrapped.

    Args:
        text: as it was pasted.
    """

    def __init__(self, text: str) -> None:
        self.lines = list(_cleaned(text))
        stripped = [line.strip() for line in self.lines]
        self.flat = " ".join(stripped)
        self._starts = [0]
        for line in stripped:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def line_at(self, offset: int) -> int:
        """The index of the line that holds a character of `flat`."""
        return bisect_right(self._starts, offset) - 1

    def error_at(self, start: int, end: int) -> tuple[str, str]:
        """The exception's type and message around a stretch of `flat`; the type is empty where it is not told."""
        first = self.line_at(start)
        before = self.flat[self._starts[first] : start]
        raised = _RAISED.match(before)
        head = before[raised.end() :] if raised is not None else ""
        last = self.line_at(max(start, end - 1))
        while last + 1 < len(self.lines) and self._goes_on(last + 1):
            last += 1
        tail = self.flat[start : self._starts[last + 1] - 1]
        return raised.group(1) if raised else "", f"{head}{tail}".strip()

    def frames_before(self, offset: int) -> tuple[Frame, ...]:
        """The traceback that ends in the error at this offset of `flat`, the innermost frame last."""
        end = self.line_at(offset)
        heads = [number for number in range(end) if _HEADER.search(self.lines[number])]
        start = heads[-1] if heads else 0
        after = end + 1
        while after < len(self.lines) and after < end + 12 and not _PYTEST.match(self.lines[after].strip()):
            after += 1
        ending = self.lines[after : after + 1] if heads == [] else []
        return tuple(_frames([*self.lines[start:end], *ending]))

    def forward_frames(self) -> tuple[Frame, ...]:
        """The traceback of the forward call, which anomaly mode prints."""
        starts = [number for number, line in enumerate(self.lines) if _FORWARD in line]
        if not starts:
            return ()
        lines = self.lines[starts[-1] + 1 :]
        ends = (number for number, line in enumerate(lines) if any(mark in line for mark in _FORWARD_ENDS))
        return tuple(_frames(lines[: next(ends, len(lines))]))

    def _goes_on(self, number: int) -> bool:
        line = self.lines[number]
        text = line.strip()
        if not text or _HEADER.search(text) or set(text) <= set("-=─╰╯"):
            return False
        return not any(pattern.match(text) for pattern in (_PYTHON, _IPYTHON, _CELL, _PYTEST, _RICH)) and (
            not text.startswith("During handling of") and not text.startswith("The above exception")
        )


def _cleaned(text: str) -> Iterator[str]:
    text = _STRIPPED_ESCAPES.sub("", _ESCAPES.sub("", text))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(8).split("\n")
    lines = [_BOX.sub("", _RANK.sub("", line)) for line in lines]
    prefix = ""
    for line in lines:
        head = _HEADER.search(line)
        if head is not None:
            prefix = line[: head.start()].strip(" ╭─+|") and line[: head.start()]
        cut = line.removeprefix(prefix)
        yield (cut if cut != line else line.removeprefix(prefix.rstrip())) if prefix else line


def _frames(lines: Sequence[str]) -> Iterator[Frame]:
    """Every frame in some lines; one whose header has no line number gets it from the arrow below."""
    current: Frame | None = None
    before = ""
    for line in lines:
        header = _header(line)
        if header is not None:
            if current is not None and current.line:
                yield current
            current = header
            if before.startswith(">"):
                current = replace(current, text=before[1:].strip())
        elif current is not None:
            current = _with_line(current, line)
        if line.strip() and not line.startswith("E "):
            before = line
    if current is not None and current.line:
        yield current


def _header(line: str) -> Frame | None:
    text = line.strip()
    for pattern in (_PYTHON, _IPYTHON, _CELL, _PYTEST, _RICH, _OLD_IPYTHON):
        match = pattern.match(text)
        if match is None:
            continue
        found = match.groupdict()
        name = found.get("name") or ""
        inside = _CELL_LINE.search(name)
        number = int(found.get("line") or (inside.group(1) if inside else 0))
        cell = found.get("cell")
        path = "" if cell else found["path"]
        return Frame(path, number, name.split("(")[0].strip(), cell=int(cell) if cell else None)
    return None


def _with_line(frame: Frame, line: str) -> Frame:
    arrow = _ARROW.match(line)
    if arrow is not None:
        return replace(frame, line=int(arrow["line"]), text=(arrow["text"] or "").strip())
    if frame.text or not line.strip() or _NUMBERED.match(line) or _POINTER.match(line):
        return frame
    return replace(frame, text=line.strip()) if line.startswith(" ") else frame
