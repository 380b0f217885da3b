"""Reads notebooks from the markdown file beside this one.

An entry is a `## title` and fenced blocks with the cells of a notebook, each after a line `# %%`, or `# %% [markdown]`.
The info strings and the marks are those of the pairs; `twice=3` says that the cell of that index (text cells count) is
run again right away, and that the notebook is only then what the block says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pairs.format import HEADING, MARK

FENCE = re.compile(r"```python (?P<kind>fault raises|fault leaks|fault silent|clean)(?: twice=(?P<twice>\d+))?")
OTHER_LANGUAGES = ("%%bash", "%%writefile")
# `%time f(x)` and `%timeit -n 2 -r 1 f(x)` run what follows.
TIMED = re.compile(r"%time(it)?\b(?: -\w \d+)* (?P<code>.*)")
ASSIGNED = re.compile(r"^(?P<target>\s*\w+) = [!%]\w.*$")


@dataclass(frozen=True)
class Cell:
    """A cell as it is written, marks included."""

    is_code: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Mark:
    """A line on which a person might mend the fault, from 1 in its cell, and a code that it may be found under."""

    cell: int
    line: int
    code: str


@dataclass(frozen=True)
class Notebook:
    """One side of an entry.

    Attributes:
        id: title and side, for pytest.
        outcome: `raises`, `leaks`, `silent` or `clean`.
        twice: the cell that is run again, if one is.
    """

    id: str
    outcome: str
    cells: tuple[Cell, ...]
    twice: int | None

    @property
    def marks(self) -> list[Mark]:
        return [
            Mark(index, number, code)
            for index, cell in enumerate(self.cells)
            for number, line in enumerate(cell.lines, 1)
            if (mark := MARK.search(line))
            for code in mark["codes"].split(", ")
        ]

    @property
    def json(self) -> bytes:
        """The file that Jupyter would write."""
        cells = [
            {
                "cell_type": "code" if cell.is_code else "markdown",
                "metadata": {},
                "source": [f"{line}\n" for line in cell.lines],
                **({"execution_count": None, "outputs": []} if cell.is_code else {}),
            }
            for cell in self.cells
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    @property
    def script(self) -> str:
        """The cells in the order in which they are run, as a program without magics."""
        order = [index for index, cell in enumerate(self.cells) if cell.is_code]
        if self.twice is not None:
            order.insert(order.index(self.twice), self.twice)
        return "".join(f"{line}\n" for index in order for line in _plain(self.cells[index]))


def _plain(cell: Cell) -> Iterator[str]:
    if cell.lines and cell.lines[0].startswith(OTHER_LANGUAGES):
        return
    for line in cell.lines:
        text = line.strip()
        timed = TIMED.fullmatch(text)
        if timed:
            yield timed["code"]
        elif text.startswith(("%", "!", "?")):
            yield f"{line[: len(line) - len(line.lstrip())]}pass"
        else:
            yield ASSIGNED.sub(r"\g<target> = []", line)


def read_all() -> list[Notebook]:
    """The notebooks of the file, in its order.

    Raises:
        ValueError: a block that does not keep to the format.
    """
    found: list[Notebook] = []
    title = ""
    lines = iter((Path(__file__).parent / "notebooks.md").read_text(encoding="utf-8").splitlines())
    for line in lines:
        if heading := HEADING.fullmatch(line):
            title = heading["title"]
        elif line.startswith("```"):
            fence = FENCE.fullmatch(line)
            if fence is None:
                raise ValueError(f"{title}: not a block of a notebook: {line}")
            kind, twice = fence["kind"], fence["twice"]
            cells = tuple(_cells(lines))
            notebook = Notebook(f"{title}::{kind.split()[0]}", kind.split()[-1], cells, int(twice) if twice else None)
            if (kind == "clean") == bool(notebook.marks):
                raise ValueError(f"{title}: a fault marks the lines to mend, a clean notebook none")
            found.append(notebook)
    return found


def _cells(lines: Iterator[str]) -> Iterator[Cell]:
    """The cells up to the closing fence."""
    kind, text = "", list[str]()
    for line in lines:
        if line == "```" or line.startswith("# %%"):
            if kind:
                yield Cell(kind == "# %%", tuple(text))
            if line == "```":
                return
            kind, text = line, []
        else:
            text.append(line)
    raise ValueError("a block is not closed")
