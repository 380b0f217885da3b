"""Measures how much work an edit is until everything it can change was run along all paths, as in a pause of typing.

usage: python server/tools/bench_settle.py [PATH...] [--places N]

A statement is added at places spread over each program (in functions and at the end, in notebooks at the ends of cells)
and taken back. Times are processor time of the analysis in milliseconds: until one path of what was edited is known,
and until all is settled. Without paths the two programs of bench_server are measured; with paths, those files and
notebooks, of folders all that use torch.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parent))

from benching.keys import long_file, script

from gradsense.check import WORDS, Project
from gradsense.garbage import ANALYSIS, Pauses, collect_seldom
from gradsense.live import LiveCheck
from gradsense.machine.limits import Limits
from gradsense.syntax.notebook import read_cells
from gradsense.syntax.source import Source, SourceError

ADDED = "added_by_the_benchmark = 0"
Cells = list[tuple[int, str]]
T = TypeVar("T")


@dataclass
class Measured:
    """Milliseconds of processor time: until all is settled after opening, and for each edit."""

    opened: float = 0.0
    seen: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--places", type=int, default=6, help="edits in each program at most")
    options = parser.parse_args()
    # As the process that analyses for an editor has it.
    collect_seldom(ANALYSIS)
    everything = Measured()
    print(f"{'program':60} {'opened':>8} {'one path, median':>17} {'most':>8} {'settled, median':>17} {'most':>8}")
    for name, versions, project in _programs(options.paths, options.places):
        found = measure(versions, project)
        everything.seen += found.seen
        everything.settled += found.settled
        print(f"{name[-60:]:60} {found.opened:8.0f} {_pair(found.seen)} {_pair(found.settled)}")
    for what, times in (("one path", everything.seen), ("settled", everything.settled)):
        ordered = sorted(times)
        last = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
        middle = statistics.median(times)
        print(f"{what}: {len(times)} edits, median {middle:.0f}, p95 {last:.0f}, most {ordered[-1]:.0f} ms")


def measure(versions: Sequence[Source], project: Project) -> Measured:
    """Opens the first version of a program and goes on from one to the next."""
    found, pauses = Measured(), Pauses()
    check = LiveCheck(versions[0], project, Limits())
    began = time.process_time()
    check.settle()
    found.opened = _since(began)
    for version in versions[1:]:
        pauses.collect()
        began = time.process_time()
        check.update(version)
        check.glance()
        check.look()
        check.report()
        found.seen.append(_since(began))
        check.settle()
        check.report()
        found.settled.append(_since(began))
    return found


def _programs(paths: Sequence[Path], places: int) -> Iterator[tuple[str, list[Source], Project]]:
    if not paths:
        for name, text in (("311 lines", script()), ("5,232 lines", long_file(5000))):
            yield name, _of_script(f"{name}.py", text, places), Project()
        return
    files = [f for p in paths for f in ([p] if p.is_file() else sorted([*p.rglob("*.py"), *p.rglob("*.ipynb")]))]
    for file in files:
        try:
            source = Source.from_path(file)
        except SourceError:
            continue
        if not any(word in source.text for word in WORDS):
            continue
        if source.cells:
            versions = _of_notebook(str(file), read_cells(str(file), file.read_bytes()), places)
        else:
            versions = _of_script(str(file), source.text, places)
        yield str(file), versions, Project.for_paths([str(file)])


def _of_script(path: str, text: str, places: int) -> list[Source]:
    """A program, and then by turns with a statement more and without it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return [Source.from_text(path, text)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    ends = sorted({(f.body[0].lineno - 1, f.body[0].col_offset) for f in functions if f.body[0].lineno > f.lineno})
    ends = [*_spread(ends, places - 1), (text.count("\n"), 0)]
    lines = text.splitlines(keepends=True)
    versions = [Source.from_text(path, text)]
    for line, column in ends:
        added = [*lines[:line], " " * column + ADDED + "\n", *lines[line:]]
        versions += [Source.from_text(path, "".join(added)), Source.from_text(path, text)]
    return versions


def _of_notebook(path: str, cells: Cells, places: int) -> list[Source]:
    versions = [Source.from_cells(path, cells)]
    for position in _spread(range(len(cells)), places):
        added = list(cells)
        index, text = added[position]
        added[position] = (index, f"{text.rstrip()}\n{ADDED}\n")
        versions += [Source.from_cells(path, added), Source.from_cells(path, cells)]
    return versions


def _spread(all_of_them: Sequence[T], count: int) -> list[T]:
    step = max(1, len(all_of_them) / max(1, count))
    return [all_of_them[int(number * step)] for number in range(min(count, len(all_of_them)))]


def _since(began: float) -> float:
    return (time.process_time() - began) * 1000


def _pair(times: Sequence[float]) -> str:
    return f"{statistics.median(times):17.0f} {max(times):8.0f}" if times else f"{'-':>17} {'-':>8}"


if __name__ == "__main__":
    main()
