"""How much work a check may be, and what a person is told where a bound left something out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class OutOfBudget(Exception):
    """The bound on work is reached: the path ends here."""


class Interrupted(BaseException):
    """Something else is wanted now; what was begun is dropped. Nothing that handles errors may take it for one."""


@dataclass
class Limits:
    """Bounds on work.

    Args:
        paths: how many paths of the module level are run; a unit gets a third.
        steps: expressions and statements evaluated on one path.
        combined: the same on all paths together on which several branches are flipped at once. In real programs they
            hardly ever show more than those with one.
        visits: nodes of graphs and values looked at on one path, and as many again to draw conclusions.
        seconds: processor time for one file, so that a busy machine finds what an idle one does.
        depth: nested calls.
        imports: how many files of the workspace one path may load.
        passes: how often a loop is run whose length is not known or more; what grows is seen from three on.
        interrupted: says whether to stop at once with `Interrupted`.
    """

    paths: int = 24
    steps: int = 120_000
    combined: int = 30_000
    visits: int = 12_000_000
    seconds: float = 8.0
    depth: int = 18
    imports: int = 200
    passes: int = 3
    interrupted: Callable[[], bool] | None = None


# What is said of a bound that was met.
STEPS = "a path reached the bound on work"
TIME = "the time for one file reached the bound on work"
DEPTH = "calls were nested too deep"
STACK = "expressions or values were nested too deep"
IMPORTS = "it imports too many files"
SIZE = "of something very long only the beginning was read"

# Of a longer display only the beginning is evaluated.
LONGEST_DISPLAY = 2_000
# No list, tuple or dictionary that the program builds is followed any longer.
MOST_HELD = 4_000
# No text is longer than this, and no whole number has more bits.
LONGEST_TEXT = 4_096
MOST_BITS = 62
# A tensor is split into so many parts at most, and a layer made of so many others.
MOST_PARTS = 300
# Errors of one path that it goes on behind: each is compared with all before it, and begins a walk anew.
MOST_ERRORS = 100
