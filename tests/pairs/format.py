"""Reads the pairs from their markdown files.

An entry is a `## title`, a line or two that say why, and fenced blocks whose info string says what the program does:

    ```python fault raises      torch raises an error of autograd
    ```python fault leaks       runs, and keeps more of the graph each pass of a loop
    ```python fault silent      runs, and the asserts at its end show what is wrong
    ```python clean             right, and close to the fault

In a fault, `# <- GS102` ends each line on which a person might mend it, `# <- GS102, GS301` where two rules may say so.
A program of several files is a row of blocks, each with `file=NAME`, its `main.py` last; a block with the info string
`python shared file=NAME` belongs to all programs of the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADING = re.compile(r"## (?P<title>.+)")
FENCE = re.compile(r"```python (?P<kind>fault raises|fault leaks|fault silent|clean|shared)(?: file=(?P<file>\S+))?")
MARK = re.compile(r"# <- (?P<codes>GS\d{3}(?:, GS\d{3})*)\s*$")
MAIN = "main.py"


@dataclass(frozen=True)
class Mark:
    """A line on which a person might mend the fault, and a code that it may be found under."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Program:
    """One side of a pair.

    Attributes:
        id: markdown file, title and side, for pytest.
        outcome: `raises`, `leaks`, `silent` or `clean`.
        files: text by path, `main.py` among them.
        marks: the lines to mend.
        line: where its block starts in the markdown file.
    """

    id: str
    outcome: str
    files: dict[str, str]
    marks: tuple[Mark, ...]
    line: int

    @property
    def main(self) -> str:
        return self.files[MAIN]

    @property
    def others(self) -> dict[str, str]:
        return {name: text for name, text in self.files.items() if name != MAIN}


def read(path: Path) -> list[Program]:
    """The programs of one markdown file, in its order.

    Raises:
        ValueError: an entry that does not keep to the format; the message says where.
    """
    programs: list[Program] = []
    title = ""
    pending: dict[str, str] = {}
    shared: dict[str, str] = {}
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if heading := HEADING.fullmatch(line):
            if pending:
                raise ValueError(f"{path.name}:{number}: the program before this heading has no {MAIN}")
            title, shared = heading["title"], {}
        elif line.startswith("```"):
            fence = FENCE.fullmatch(line)
            if fence is None:
                raise ValueError(f"{path.name}:{number}: not a block of a pair: {line}")
            text = _block(lines)
            kind, file = fence["kind"], fence["file"] or MAIN
            if kind == "shared":
                shared[file] = text
                continue
            pending[file] = text
            if file == MAIN:
                programs.append(_program(f"{path.stem}::{title}", kind, {**shared, **pending}, number))
                pending = {}
    return programs


def read_all() -> list[Program]:
    """The programs of all markdown files beside this one, with ids that differ."""
    programs = [program for path in sorted(Path(__file__).parent.glob("*.md")) for program in read(path)]
    seen: dict[str, int] = {}
    for program in programs:
        seen[program.id] = seen.get(program.id, 0) + 1
        if seen[program.id] > 1:
            object.__setattr__(program, "id", f"{program.id}-{seen[program.id]}")
    return programs


def _block(lines: Iterator[tuple[int, str]]) -> str:
    """The text up to the closing fence."""
    text: list[str] = []
    for _, line in lines:
        if line == "```":
            return "".join(f"{line}\n" for line in text)
        text.append(line)
    raise ValueError("a block is not closed")


def _program(id: str, kind: str, files: dict[str, str], line: int) -> Program:
    marks = tuple(
        Mark(file, number, code)
        for file, text in files.items()
        for number, line_text in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line_text))
        for code in mark["codes"].split(", ")
    )
    if (kind == "clean") == bool(marks):
        raise ValueError(f"{id} (line {line}): a fault marks the lines to mend, a clean program none")
    return Program(f"{id}::{kind.split()[0]}", kind.split()[-1], files, marks, line)
