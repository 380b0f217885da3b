"""Checks whole repositories as a user would, and says how well that went.

usage: python server/tools/survey.py FOLDER... [--json] [--triage FILE.tsv] [--jobs N] [--findings] [--failures]

Each folder is a project. For each: files, lines, seconds of processor time, crashes, statements that the machine
itself failed on, what was cut, and findings by code and severity. Then the coverage: of all backward and grad calls
in the code, the share whose graph was fully known, and for the others why not. With a table of lines that were judged
by hand, whether the findings agree with it. The exit code is 1 if anything crashed or a `fine` line was blamed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from surveying import triage
from surveying.checking import Outcome, programs_of, survey
from surveying.triage import LOUD, Judged


def main() -> None:
    """Surveys and prints."""
    parser = argparse.ArgumentParser(description="Checks whole repositories and says how well that went.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="repositories")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument(
        "--triage", metavar="FILE.tsv", help="lines judged by hand: repo, path, line, pattern, verdict, reason"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--findings", action="store_true", help="also list all findings at warning or above")
    parser.add_argument("--failures", action="store_true", help="also list what the machine failed on and what was cut")
    options = parser.parse_args()
    outcomes = run([folder.rstrip("/") for folder in options.folders], options.jobs)
    judged = triage.judge(triage.read(options.triage), outcomes) if options.triage else []
    if options.json:
        print(json.dumps(as_json(outcomes, judged), indent=1))
    else:
        print_table(outcomes)
        print_troubles(outcomes, options.failures)
        print_coverage(outcomes)
        if options.findings:
            print_findings(outcomes)
        if options.triage:
            print_triage(judged)
    blamed = any(j.kind == "fine" and not j.agrees for j in judged)
    sys.exit(1 if blamed or any(outcome.crash for outcome in outcomes) else 0)


def run(folders: Sequence[str], jobs: int) -> list[Outcome]:
    """Surveys all programs of the folders, the largest first."""
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        found = [program for programs in pool.map(programs_of, folders) for program in programs]
        found.sort(key=lambda program: -program.size)
        outcomes = list(pool.map(survey, found))
    order = {folder: number for number, folder in enumerate(folders)}
    return sorted(outcomes, key=lambda outcome: (order[outcome.program.folder], outcome.program.files))


def by_repository(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes, parted."""
    parted: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parted.setdefault(outcome.program.repository, []).append(outcome)
    return parted


def coverage(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """How many walks were fully known, of how many."""
    sites = [site for outcome in outcomes for site in outcome.sites]
    return sum(site.reason is None for site in sites), len(sites)


def print_table(outcomes: Sequence[Outcome]) -> None:
    """A row for each repository, then the codes."""
    heads = ("files", "lines", "seconds", "s/1,000", "crashes", "failures", "cut", "error", "warning", "information")
    print(f"{'':20}" + "".join(f"{head:>12}" for head in heads) + f"{'known':>12}")
    parted = by_repository(outcomes)
    for name, own in [*parted.items(), ("all", list(outcomes))]:
        lines, seconds = sum(o.lines for o in own), sum(o.seconds for o in own)
        severities = Counter(s.severity for o in own for s in o.said)
        cells = [
            str(sum(len(o.program.files) for o in own)),
            f"{lines:,}",
            f"{seconds:.1f}",
            f"{seconds / max(lines, 1) * 1000:.3f}",
            str(sum(o.crash is not None for o in own)),
            str(sum(len(o.failures) for o in own)),
            str(sum("bound on work" in n for o in own for n in o.notes)),
            *(str(severities[severity]) for severity in ("error", "warning", "information")),
            "{} of {}".format(*coverage(own)),
        ]
        print(f"{name:20}" + "".join(f"{cell:>12}" for cell in cells))
    print("\nfindings by code:")
    for (code, severity), count in sorted(Counter((s.code, s.severity) for o in outcomes for s in o.said).items()):
        print(f"  {code} {severity:12} {count}")


def print_troubles(outcomes: Sequence[Outcome], everything: bool) -> None:
    """Crashes; on request what the machine failed on, and what was cut or could not be read."""
    for outcome in outcomes:
        if outcome.crash:
            print(f"\ncrash in {outcome.program.repository}, {', '.join(outcome.program.files[:3])}:\n{outcome.crash}")
    if everything:
        kinds = Counter(failure.partition(": ")[2] for outcome in outcomes for failure in outcome.failures)
        for outcome in outcomes:
            for failure in outcome.failures:
                print(f"  failed: {outcome.program.repository}: {failure}")
            for note in outcome.notes:
                print(f"  note: {outcome.program.repository}/{note}")
        for kind, count in kinds.most_common():
            print(f"  {count} × {kind}")


def print_coverage(outcomes: Sequence[Outcome]) -> None:
    """The share of known walks, and why the others are not."""
    known, every = coverage(outcomes)
    print(
        f"\ncoverage: {known} of {every} backward and grad calls have a fully known graph ({known / max(every, 1):.0%})"
    )
    for outcome in outcomes:
        for site in outcome.sites:
            if site.reason is not None:
                print(f"  {outcome.program.repository}/{site.spot.path}:{site.spot.label}: {site.reason}")


def print_findings(outcomes: Sequence[Outcome]) -> None:
    """What a person would have to judge."""
    print("\nfindings at warning or above:")
    for outcome in outcomes:
        for said in outcome.said:
            if said.severity in LOUD:
                where = f"{outcome.program.repository}/{said.spot.path}:{said.spot.label}"
                print(f"  {where}: {said.code} {said.severity}: {said.message}")


def print_triage(judged: Sequence[Judged]) -> None:
    """The score, and the rows that fail."""
    print(f"\njudged by hand: {triage.score(judged)}")
    for item in judged:
        if not item.agrees:
            row = item.row
            said = "; ".join(item.said) or "nothing said"
            print(
                f"  {row.repository}/{row.path}:{row.line} ({row.pattern}) is {row.verdict}: {said}\n    {row.reason}"
            )


def as_json(outcomes: Sequence[Outcome], judged: Sequence[Judged]) -> dict[str, object]:
    """Everything, for other programs."""
    known, every = coverage(outcomes)
    return {
        "programs": [asdict(outcome) for outcome in outcomes],
        "coverage": {"known": known, "calls": every},
        "triage": [{**asdict(item.row), "agrees": item.agrees, "said": list(item.said)} for item in judged],
    }


if __name__ == "__main__":
    main()
