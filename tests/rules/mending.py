"""Mends the faults of the pairs as `gradsense check --fix --unsafe-fixes` does, and asks torch what came of it.

.venv/bin/python -m rules.mending [WORD…] [-v]      (in tests/) all faults, or those with a word in their id;
                                                    -v shows each mended program that does not run clean
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradsense.check import Project, Report, check_program, check_source
from gradsense.files import File
from gradsense.mending import Mended, mend
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source
from oracle import Oracle
from pairs.format import MAIN, Program, read_all

ALOUD = {Severity.ERROR, Severity.WARNING}


@dataclass(frozen=True)
class Result:
    """What mending one program came to.

    Attributes:
        found: the fault was found on a line to mend.
        offered: a fix was offered for it.
        clean: the mended program runs clean.
        said: what torch says of the mended program, and what was done to it.
        text: the mended main program.
    """

    program: Program
    found: bool
    offered: bool = False
    clean: bool = False
    said: str = ""
    text: str = ""


def faults(words: Sequence[str] = ()) -> list[Program]:
    """The faulty programs of the pairs whose id holds one of some words; all without any."""
    found = [program for program in read_all() if program.outcome != "clean"]
    return [program for program in found if not words or any(word in program.id for word in words)]


def try_fixes(program: Program, oracle: Oracle) -> Result:
    """Applies all fixes to a program, best first, and runs what comes of it."""
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, File] = {}
        for name, text in program.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            files[str(path)] = File.read(str(path))
        first = _check(folder, files)
        hits = [finding for finding in first if finding.severity in ALOUD and _on_a_mark(finding, program)]
        if not any(finding.fixes for finding in hits):
            return Result(program, bool(hits))
        mended = mend(files, lambda current: _check(folder, current), unsafe=True)
        texts = {str(Path(path).relative_to(folder)): file.source.text for path, file in mended.files.items()}
    main = texts.pop(MAIN)
    outcome = oracle.run(main, texts)
    # The asserts of a fault that is silent say what is wrong in it: mended, they may fail.
    clean = outcome.kind == "clean" or (program.outcome == "silent" and outcome.error_type == "AssertionError")
    return Result(program, True, True, clean, f"{outcome.kind} {outcome.message[:100]} {_done(mended)}", main)


def figures(results: Iterable[Result]) -> Counter[str]:
    """How many were found, offered a fix, and ran clean with it."""
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(faults=1, found=result.found, offered=result.offered, clean=result.clean)
    return counts


def _check(folder: str, files: dict[str, File] | object) -> list[Finding]:
    assert isinstance(files, dict)
    sources = {str(Path(path).resolve()): file.source for path, file in files.items()}

    def read(path: str) -> Source:
        return sources.get(str(Path(path).resolve())) or Source.from_path(path)

    project = Project([folder], read)
    if len(files) == 1:
        report: Report = check_source(next(iter(sources.values())), project)
        return report.findings
    for path, file in files.items():
        Path(path).write_bytes(file.data)
    return check_program(project, list(files)).findings


def _on_a_mark(finding: Finding, program: Program) -> bool:
    return any(
        Path(finding.path).name == Path(mark.file).name and finding.span.line <= mark.line <= finding.span.end_line
        for mark in program.marks
    )


def _done(mended: Mended) -> str:
    return "; ".join(f"{m.finding.code} line {m.finding.span.line}: {m.fix.title}" for m in mended.mends)


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each fault that is not mended, and the figures."""
    results = []
    with Oracle() as oracle:
        for program in faults([word for word in arguments if not word.startswith("-")]):
            result = try_fixes(program, oracle)
            results.append(result)
            if result.found and not result.offered:
                print(f"NO FIX {program.id}: {', '.join(sorted({mark.code for mark in program.marks}))}")
            elif result.offered and not result.clean:
                print(f"DOES NOT MEND {program.id}: {result.said}")
                if "-v" in arguments:
                    print(result.text)
    print(dict(figures(results)))


if __name__ == "__main__":
    main(sys.argv[1:])
