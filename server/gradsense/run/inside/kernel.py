"""A cell of a notebook in the notebook's own kernel: it runs with the variables that are there, and may change them."""

from __future__ import annotations
import __future__

import ast
import contextlib
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .existing import Text, modules
from .limits import TimeLimit
from .places import Places
from .probe import Probe, only_new_objects
from .restoring import Snapshot
from .streams import Output, Streams

OF_CELLS = re.compile(r"ipykernel_|<ipython-input-")
FEATURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
MORE_WALKS = re.compile(r"\bbackward\(|\bgrad\(|\.step\(")


class Cell:
    """A cell of the notebook, and its lines in the program that all its cells are.

    Args:
        first, last: its lines, from 1.
        raw: its text as a person sees it, with magics.
    """

    def __init__(self, first: int, last: int, raw: str) -> None:
        self.first, self.last, self.raw = first, last, raw


def run_cell(spec: dict[str, Any], shell: Any, send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Runs a cell under the probe, cut to a few passes, and tells what happened.

    Functions that earlier cells defined are seen as well, as far as their cells are still what was run.

    Args:
        spec: as `main.run` takes it: `path`, `text` (of all cells, with what is not Python blanked), and `cells` (first
            and last line and the text as typed, of each), `cell` (the index of the one to run); and, each of them
            optional, `passes`, `batches`, `check_nan`, `roots`, `predictions`, `time_limit`, `restore` (whether models,
            optimizers and random numbers are put back afterwards).
        shell: IPython's.
        send: is told of each pass.

    Returns:
        The report. It does not raise because of the cell.
    """
    path: str = spec["path"]
    cells = [Cell(*cell) for cell in spec["cells"]]
    cell = cells[spec["cell"]]
    lines: list[str] = spec["text"].splitlines()
    probe = Probe(
        files=[path],
        roots=spec.get("roots") or (),
        passes=spec.get("passes", 3),
        batches=spec.get("batches", 3),
        check_nan=spec.get("check_nan", True),
        predictions=spec.get("predictions"),
        send=send,
    )
    own = _python_of(cell, lines, shell, probe.notes)
    lines[cell.first - 1 : cell.last] = own
    probe.more_walks_follow = MORE_WALKS.search("\n".join(lines[cell.last :])) is not None
    flags = shell.compile.flags & FEATURES
    texts = [*_run_before(cells, path, shell, probe.places, flags), *modules(probe.places)]
    output = Output(lambda event: None)
    limit = TimeLimit(spec.get("time_limit"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(_readable(path, lines))
        stack.enter_context(_without_breakpoints(probe.notes))
        if spec.get("restore"):
            stack.callback(Snapshot(shell.user_ns).restore)
        probe.live_on(texts)
        with Streams(output):
            try:
                with limit, probe, only_new_objects():
                    probe.books.base = sys._getframe()
                    tree = ast.increment_lineno(ast.parse("\n".join(own), path), cell.first - 1)
                    exec(probe.compile_tree(tree, path, flags), shell.user_ns)
            except BaseException as error:
                probe.error = error
            finally:
                probe.books.base = None
            probe.out_of_time = limit.passed
            report = probe.report()
    report["output"] = output.text()
    return report


def _python_of(cell: Cell, lines: list[str], shell: Any, notes: list[str]) -> list[str]:
    """The lines of a cell as Python: with magics where they can be run, and without them where they cannot."""
    blanked = lines[cell.first - 1 : cell.last]
    if not cell.raw.lstrip().startswith("%%"):
        magic: list[str] = shell.transform_cell(cell.raw).splitlines()
        magic += [""] * (len(blanked) - len(magic))
        if len(magic) == len(blanked):
            return magic
    if any(line.lstrip().startswith(("%", "!")) for line in cell.raw.splitlines()):
        notes.append("lines of the cell that are not Python were left out")
    return blanked


def _run_before(cells: list[Cell], path: str, shell: Any, places: Places, flags: int) -> Iterator[Text]:
    """The cells that the kernel has run and that are still as they were."""
    first_lines: dict[str, int] = {}
    for cell in cells:
        if not cell.raw.lstrip().startswith("%%"):
            first_lines.setdefault(shell.transform_cell(cell.raw).rstrip(), cell.first)
    for name, entry in list(linecache.cache.items()):
        if not OF_CELLS.search(name) or len(entry) < 3:
            continue
        places.add(name)
        text = "".join(entry[2])
        first = first_lines.get(text.rstrip())
        if first is not None:
            yield Text(name, text, path, first, flags, parted=True)


@contextlib.contextmanager
def _readable(path: str, lines: list[str]) -> Iterator[None]:
    """Has tracebacks show the lines of the program that the cells are."""
    before = linecache.cache.get(path)
    text = [line + "\n" for line in lines]
    linecache.cache[path] = (sum(map(len, text)), None, text, path)
    try:
        yield
    finally:
        linecache.cache.pop(path, None)
        if before is not None:
            linecache.cache[path] = before


@contextlib.contextmanager
def _without_breakpoints(notes: list[str]) -> Iterator[None]:
    real = sys.breakpointhook
    sys.breakpointhook = lambda *_, **__: notes.append("breakpoints were passed over")
    try:
        yield
    finally:
        sys.breakpointhook = real
