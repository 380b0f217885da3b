"""Measures how long a check takes, beside parsers and TorchFix, in one run over the same files.

usage: python server/tools/bench_check.py [PATH...] [--runs N] [--slowest N] [--torchfix PYTHON] [--skip-all-paths]

Without paths the project's own examples are measured. Times are process times of one thread, in seconds for 1,000
lines; of several runs the median counts. TorchFix is an optional guest: name an interpreter that has it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benching import contestants, with_torchfix
from benching.contestants import Contestant
from benching.files import Gathered, gather

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GOAL = 0.15
ONE_PATH = "GradSense, one path"
CONTESTANTS: dict[str, Contestant] = {
    "ast.parse": contestants.ast_parse,
    "libcst parse": contestants.libcst_parse,
    ONE_PATH: contestants.one_path,
    "GradSense, all paths": contestants.all_paths,
}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measures how long a check takes, beside parsers and TorchFix.")
    parser.add_argument("paths", nargs="*", default=[str(EXAMPLES)], metavar="PATH", help="files and folders")
    parser.add_argument("--runs", type=int, default=3, help="of so many runs the median counts")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="also the N files slowest on one path")
    parser.add_argument("--torchfix", default=sys.executable, metavar="PYTHON", help="an interpreter that has TorchFix")
    parser.add_argument("--skip-all-paths", action="store_true", help="leave out the longest measurement")
    options = parser.parse_args()
    gathered = gather(options.paths)
    for trouble in gathered.unreadable:
        print(trouble, file=sys.stderr)
    if not gathered.files:
        sys.exit("there is nothing to measure: no readable file has anything to do with gradients")
    chosen = {k: v for k, v in CONTESTANTS.items() if not (options.skip_all_paths and v is contestants.all_paths)}
    rounds = measure(gathered, chosen, options.runs, options.torchfix)
    print(
        f"{len(gathered.files)} files with {gathered.lines:,} lines ({gathered.passed_by} without gradients left out), "
        f"median of {options.runs} runs"
    )
    print(table(rounds, gathered.lines))
    if "TorchFix" not in rounds:
        print(f"TorchFix was not measured: it is not installed for {options.torchfix} (see --torchfix)")
    for line in slowest(rounds[ONE_PATH], gathered, options.slowest):
        print(line)
    reached = statistics.median(map(sum, rounds[ONE_PATH])) / gathered.lines * 1000
    print(f"{ONE_PATH}: {reached:.3f} s for 1,000 lines, goal {GOAL} s: {'reached' if reached <= GOAL else 'missed'}")


Rounds = dict[str, list[list[float]]]


def measure(gathered: Gathered, chosen: dict[str, Contestant], runs: int, torchfix: str) -> Rounds:
    """The seconds of each file in each run; the contestants take turns, so that a busy machine is busy for all."""
    contestants.warm_up()
    rounds: Rounds = {name: [] for name in chosen}
    texts = [file.source.text for file in gathered.files]
    for _ in range(runs):
        for name, contestant in chosen.items():
            rounds[name].append(contestant(gathered.files))
        seconds = with_torchfix.times(torchfix, texts)
        if seconds is not None:
            rounds.setdefault("TorchFix", []).append(seconds)
    return rounds


def table(rounds: Rounds, lines: int) -> str:
    """Seconds for 1,000 lines, and how many times the others they are."""
    medians = {name: statistics.median(map(sum, runs)) / lines * 1000 for name, runs in rounds.items()}
    others = "".join(f"{'÷ ' + name:>23}" for name in medians)
    rows = [f"{'':22} {'s / 1,000 lines':>16} {'fastest':>9} {'slowest':>9}  {others}"]
    for name, seconds in medians.items():
        runs = [sum(run) / lines * 1000 for run in rounds[name]]
        ratios = "".join(f"{seconds / other:>23.2f}" if other else f"{'-':>23}" for other in medians.values())
        rows.append(f"{name:22} {seconds:>16.4f} {min(runs):>9.4f} {max(runs):>9.4f}  {ratios}")
    return "\n".join(rows)


def slowest(runs: list[list[float]], gathered: Gathered, count: int) -> list[str]:
    """The files that took longest."""
    medians = [statistics.median(seconds) for seconds in zip(*runs, strict=True)]
    ranked = sorted(zip(medians, gathered.files, strict=True), key=lambda pair: -pair[0])[:count]
    return [f"{seconds:8.3f} s  {file.lines:6} lines  {file.source.path}" for seconds, file in ranked]


if __name__ == "__main__":
    main()
