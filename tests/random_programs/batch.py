"""Runs many random programs on torch, has each predicted, and adds up the verdicts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from oracle import Outcome, run_program

from .compare import Comparison, Verdict, compare, predict
from .generate import generate
from .reach import unreached_lines


@dataclass(frozen=True)
class Result:
    """One program and its verdict."""

    seed: int
    outcome: Outcome
    comparison: Comparison
    features: Counter[str]


@dataclass
class Tally:
    """The figures of a batch.

    Attributes:
        verdicts: programs by verdict.
        kinds: for each kind of torch's error (None for programs that ran clean), programs by verdict.
        features: for each feature, the programs that use it and those of them that disagree.
        growth: programs that ran to their end, by (grew, was said to grow).
        disagreements: the results that do not agree.
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    kinds: dict[str | None, Counter[Verdict]] = field(default_factory=dict)
    features: dict[str, list[int]] = field(default_factory=dict)
    growth: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    disagreements: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Counts one program."""
        comparison = result.comparison
        self.verdicts[comparison.verdict] += 1
        if comparison.verdict is Verdict.REJECTED:
            return
        self.kinds.setdefault(comparison.kind, Counter())[comparison.verdict] += 1
        differs = comparison.verdict is not Verdict.AGREE
        for feature in result.features:
            counts = self.features.setdefault(feature, [0, 0])
            counts[0] += 1
            counts[1] += differs
        if comparison.grows is not None:
            self.growth[comparison.grows, comparison.said_growth] += 1
        if differs:
            self.disagreements.append(result)

    @property
    def counted(self) -> int:
        """Programs that count: those whose exception, if any, is autograd's."""
        return self.verdicts.total() - self.verdicts[Verdict.REJECTED]

    @property
    def agreement(self) -> float:
        """The share that agrees; a program that may raise, and does, counts half."""
        return (self.verdicts[Verdict.AGREE] + 0.5 * self.verdicts[Verdict.MAYBE]) / max(self.counted, 1)

    @property
    def false_alarms(self) -> float:
        """The share of clean programs that were said to raise, or perhaps to."""
        return self.verdicts[Verdict.FALSE_ALARM] / max(self.counted, 1)


def judge(text: str) -> tuple[Outcome, Comparison]:
    """Runs a program on torch and compares what is predicted for it.

    What is said of blocks that do not run is left out.
    """
    outcome = run_program(text, main="main.py")
    try:
        claims = predict(text)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return outcome, Comparison(Verdict.CRASHED, None, said, None, False)
    comparison = compare(outcome, claims)
    if comparison.verdict is Verdict.FALSE_ALARM:
        unreached = unreached_lines(text, {line for claim in claims for line in claim.lines})
        comparison = compare(outcome, [claim for claim in claims if not claim.lines & unreached])
    return outcome, comparison


def examine(seed: int) -> Result:
    """Judges the program of a seed."""
    program = generate(seed)
    outcome, comparison = judge(program.text)
    return Result(seed, outcome, comparison, program.features)


def run_batch(seeds: Iterable[int], workers: int | None = None) -> Iterator[Result]:
    """Judges many programs, in the order of their seeds.

    Args:
        seeds: which programs.
        workers: processes; each has a torch of its own. None for as many as there are cores, at most 4.
    """
    workers = workers or min(os.cpu_count() or 1, 4)
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(examine, seeds, chunksize=8)
