"""Runs a folder of programs under the probe, and holds what it reports against what is known of them.

usage: python server/tools/score_run.py CASES_DIR [--only WORD] [--verbose]

CASES_DIR holds programs and `expect.tsv` with the columns `file`, `outcome` (raises, leaks, silent-wrong, clean),
`error`, `surface_line`, `culprit_lines` and `related_lines`; for programs of several files, `dir`, `main`, `outcome`,
`error`, and `surface`, `culprit` and `related` with places as `file:line`; for notebooks, `file`, `outcome`, `error`,
these with places as `cell:line`, cells counted from 0, and `runs` (`in order`, or `cell 6 twice`). In `mended` are
programs of the same names without the fault.
An error's walk must be on the surface line, and for a write in place the saved and the written line among those of the
story; a leak must be named with its holder; all others and all mended ones must come out clean.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch._dynamo  # optimizers import it at their first step
import torch.utils.data  # noqa: F401

from gradsense.run.inside.main import run
from gradsense.run.program import program as runnable
from gradsense.syntax import Source
from gradsense.syntax.edits import split_lines


@dataclass
class Case:
    """A program and what is known of it."""

    path: Path
    outcome: str
    error: str = ""
    surface: str = ""
    culprits: str = ""
    related: str = ""
    runs: str = ""

    @cached_property
    def program(self) -> tuple[str, dict[int, str]]:
        """The text that runs, and, of a notebook, the place of each of its lines."""
        if self.path.suffix != ".ipynb":
            return self.path.read_text(encoding="utf-8"), {}
        source = Source.from_path(self.path)
        text = split_lines(runnable(source).text)
        again = [int(number) for number in re.findall(r"cell (\d+) twice", self.runs)]
        lines: list[str] = []
        places = {}
        for cell in [*source.cells, *(cell for cell in source.cells if cell.index in again)]:
            for number in range(1, cell.line_count + 1):
                lines.append(text[cell.first_line + number - 2])
                places[len(lines)] = f"{cell.index}:{number}"
        return "\n".join(lines), places

    def story(self) -> set[str]:
        """All places that the story of its fault is told with."""
        return {place for part in (self.culprits, self.related) for place in part.replace(" ", "").split(",") if place}

    def place(self, spot: dict[str, Any] | None) -> str:
        """A place of a report, as the list of cases has it."""
        if spot is None:
            return "nowhere"
        if self.program[1]:
            return self.program[1][spot["line"]]
        several = ":" in self.surface + self.culprits
        return f"{os.path.relpath(spot['path'], self.path.parent)}:{spot['line']}" if several else str(spot["line"])


def main() -> None:
    """Runs all cases and prints the score."""
    parser = argparse.ArgumentParser(description="Holds reports of runs against what is known of the programs.")
    parser.add_argument("cases", type=Path, metavar="CASES_DIR")
    parser.add_argument("--only", default="", metavar="WORD", help="only files with this in their name")
    parser.add_argument("--verbose", action="store_true", help="also what is right")
    options = parser.parse_args()
    right = wrong = 0
    for case in read_cases(options.cases):
        if options.only not in str(case.path):
            continue
        report = report_of(case)
        complaints = judge(case, report)
        wrong += bool(complaints)
        right += not complaints
        if complaints or options.verbose:
            name = case.path.relative_to(options.cases)
            print(
                f"{'WRONG' if complaints else 'right'} {name}: {'; '.join(complaints) or summary(report)}", flush=True
            )
    print(f"right {right}, wrong {wrong}")
    sys.exit(1 if wrong else 0)


def read_cases(folder: Path) -> list[Case]:
    """The cases of a folder and their mended twins."""
    with open(folder / "expect.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    cases = []
    for row in rows:
        file = os.path.join(row["dir"], row["main"]) if "dir" in row else row["file"]
        keys = (
            ("surface", "culprit", "related")
            if "surface" in row
            else ("surface_line", "culprit_lines", "related_lines")
        )
        told = [(row[key] or "").replace("-", "") for key in keys]
        cases.append(Case(folder / file, row["outcome"], row["error"] or "", *told, row.get("runs", "")))
    mended = [Case(folder / "mended" / case.path.relative_to(folder), "clean", runs=case.runs) for case in cases]
    return cases + [case for case in mended if case.path.exists()]


def judge(case: Case, report: dict[str, Any]) -> list[str]:
    """What is wrong with a report."""
    outcome = report["outcome"]
    if case.outcome == "raises":
        return judge_error(case, report) if outcome == "raises" else [f"is {outcome}, should raise"]
    if case.outcome == "leaks":
        if outcome != "grows":
            return [f"is {outcome}, should grow"]
        return [] if report["holders"] else ["grows, but the holder is not named"]
    if outcome != "clean":
        return [f"is {outcome}, should be clean: {summary(report)}"]
    if case.outcome == "clean" and report["silent"]:
        return ["a false alarm: " + report["silent"][0]["what"]]
    return [] if "fused" not in case.path.name or report["silent"] else ["not seen"]


def judge_error(case: Case, report: dict[str, Any]) -> list[str]:
    """What is wrong with the report of an error."""
    complaints = []
    if case.place(report["walk"]) != case.surface:
        complaints.append(f"walk {case.place(report['walk'])}, should be {case.surface}")
    if "modified by an inp" in case.error:
        if report["saved"] is None:
            complaints.append("no saved line")
        if not report["written"]:
            complaints.append("no written line")
        elif not {case.place(entry) for entry in [report["saved"], *report["written"]]} & case.story():
            complaints.append("another story: " + summary(report))
    return complaints


def summary(report: dict[str, Any]) -> str:
    """A report in a line."""
    if report["error"] is not None:
        saved = report["saved"]
        story = [f"walk {report['walk'] and report['walk']['line']}"]
        story += [f"saved {saved['line']} ({saved['op']})"] if saved else []
        story += [f"written {entry['line']} ({entry['op']})" for entry in report["written"]]
        story += [f"freed {report['freed']['line']}"] if report["freed"] else []
        return f"{report['outcome']}: {', '.join(story)}; {report['error']['type']}: {report['error']['message'][:60]}"
    nodes = [entry["nodes"] for entry in report["passes"]]
    holders = [f"{entry['name']} (line {entry['line']})" for entry in report["holders"]]
    silent = [f"silent {entry['line']}" for entry in report["silent"]]
    return f"{report['outcome']}, {report['verdict']}, nodes {nodes}, {', '.join(holders + silent)}"


def report_of(case: Case) -> dict[str, Any]:
    """Runs a program in a process of its own."""
    path, text = str(case.path), case.program[0]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            run({"path": path, "text": text}, lambda event: send(pipe, event))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        events = [json.loads(line) for line in pipe]
    os.waitpid(child, 0)
    report: dict[str, Any] = events[-1]["report"]
    return report


def send(pipe: Any, event: dict[str, Any]) -> None:
    """Writes an event as a line of JSON."""
    pipe.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
