"""`python -m tests.random_programs --count 3000 --seed 0`: how well predictions agree with torch on random programs."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.progress import track
from rich.table import Table

from .batch import Tally, judge, run_batch
from .compare import Verdict
from .generate import generate
from .shrink import REGRESSIONS, save, shrink


def main() -> int:
    """Runs the command; 1 where the figures are below the bar."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="how many programs (default 3000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--workers", type=int, default=None, help="processes (default: one a core, at most 4)")
    parser.add_argument("--shrink", type=int, default=0, metavar="N", help="shrink and save the first N disagreements")
    parser.add_argument(
        "--into", type=Path, default=REGRESSIONS, help="where shrunk programs go (default: regressions)"
    )
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and stop")
    parser.add_argument("--judge", type=Path, metavar="FILE", help="judge one program in a file and stop")
    options = parser.parse_args()
    console = Console()
    if options.show is not None:
        console.print(generate(options.show).text, markup=False, highlight=False, soft_wrap=True)
        return 0
    if options.judge is not None:
        outcome, comparison = judge(options.judge.read_text(encoding="utf-8"))
        truth = (
            f"{outcome.error_type} at line {outcome.line}: {outcome.message}"
            if outcome.kind == "raises"
            else outcome.kind
        )
        console.print(f"{comparison.verdict.value}\ntorch: {truth}\nsaid: {comparison.said}", markup=False)
        return 0
    tally, started = Tally(), time.perf_counter()
    seeds = range(options.seed, options.seed + options.count)
    for result in track(run_batch(seeds, options.workers), "programs", options.count, console=console):
        tally.add(result)
    report(console, tally, time.perf_counter() - started)
    for result in tally.disagreements[: options.shrink]:
        small = shrink(generate(result.seed).text, result.comparison.signature)
        console.print(f"saved {save(options.into, result.seed, small)}")
    return 0 if tally.agreement >= 0.995 and tally.false_alarms <= 0.001 else 1


def report(console: Console, tally: Tally, seconds: float) -> None:
    """Prints the figures."""
    kinds = Table("torch", "programs", *(v.value for v in Verdict if v is not Verdict.REJECTED))
    for kind, verdicts in sorted(tally.kinds.items(), key=lambda item: -item[1].total()):
        cells = [str(verdicts[v] or "") for v in Verdict if v is not Verdict.REJECTED]
        kinds.add_row(kind or "runs clean", str(verdicts.total()), *cells)
    features = Table("feature", "programs", "disagree", "share")
    for feature, (count, differ) in sorted(
        tally.features.items(), key=lambda item: (-item[1][1] / item[1][0], item[0])
    ):
        features.add_row(feature, str(count), str(differ), f"{differ / count:.1%}")
    console.print(features, kinds)
    for result in tally.disagreements[:40]:
        comparison = result.comparison
        truth = f"{comparison.kind} line {result.outcome.line}" if comparison.kind else result.outcome.kind
        console.print(
            f"seed {result.seed}: {comparison.verdict.value}; torch: {truth}; said: {comparison.said}", markup=False
        )
    raised = sum(verdicts.total() for kind, verdicts in tally.kinds.items() if kind) / max(tally.counted, 1)
    rejected, maybe, grown = tally.verdicts[Verdict.REJECTED], tally.verdicts[Verdict.MAYBE], tally.growth
    console.print(f"{tally.counted} programs in {seconds:.0f} s, {raised:.0%} raise; {rejected} rejected")
    console.print(f"growth: {grown[True, True]} found, {grown[True, False]} missed, {grown[False, True]} invented")
    console.print(f"agreement {tally.agreement:.2%}, false alarms {tally.false_alarms:.2%}")
    console.print(f"({maybe} programs that were said to maybe raise, and do, count half)")


if __name__ == "__main__":
    sys.exit(main())
