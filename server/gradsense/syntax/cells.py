"""Cells of a script, which lines such as `# %%` begin."""

from __future__ import annotations

import re

from gradsense.syntax.scanner import scan
from gradsense.syntax.source import Cell, Source

# The marks that Spyder, VS Code and Jupytext know, and those that notebooks exported by `nbconvert` have.
_MARK = re.compile(r"^#\s*(?:%%|<codecell>|In\s?\[[\d ]*\])", re.M)


def marked_cells(source: Source) -> tuple[Cell, ...]:
    """The cells of a script, in order; what stands above the first mark is a cell too unless it is blank.

    All of a script is one program; cells only say what belongs to one run. A cell begins with the line that marks it.
    Empty for notebooks, which have cells of their own, and for scripts without marks.
    """
    if source.cells or _MARK.search(source.text) is None:
        return ()
    lines = source.lines
    starts = [index for index, column in scan(lines).comments if column == 0 and _MARK.match(lines[index])]
    if not starts:
        return ()
    if any(line.strip() for line in lines[: starts[0]]):
        starts.insert(0, 0)
    cells: list[Cell] = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        cells.append(Cell(number, start + 1, end - start, "\n".join(lines[start:end])))
    return tuple(cells)
