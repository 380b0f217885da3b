"""What is timed, each on the same texts, in process time on one thread."""

from __future__ import annotations

import ast
import contextlib
import time
import warnings
from collections.abc import Callable, Sequence

import libcst

from benching.files import Measured
from gradsense.check import Project, check_source
from gradsense.garbage import MANY, collect_seldom
from gradsense.syntax import Source

# A contestant takes all files and gives the seconds that each took.
Contestant = Callable[[Sequence[Measured]], list[float]]
FIRST_PROGRAM = """\
import torch
from torch import nn
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for x, y in [(torch.ones(1, 2), torch.ones(1, 1))] * 3:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss
"""


def warm_up() -> None:
    """Does what is done once in a process: the ops table and the rules are loaded, garbage is looked for seldom."""
    collect_seldom(MANY)
    check_source(Source.from_text("first.py", FIRST_PROGRAM))
    libcst.parse_module(FIRST_PROGRAM)


def _each(files: Sequence[Measured], work: Callable[[Measured], object]) -> list[float]:
    seconds = []
    for file in files:
        started = time.process_time()
        work(file)
        seconds.append(time.process_time() - started)
    return seconds


def ast_parse(files: Sequence[Measured]) -> list[float]:
    """`ast.parse`."""

    def work(file: Measured) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(SyntaxError, ValueError):
                ast.parse(file.source.text)

    return _each(files, work)


def libcst_parse(files: Sequence[Measured]) -> list[float]:
    """`libcst.parse_module`."""

    def work(file: Measured) -> None:
        with contextlib.suppress(libcst.ParserSyntaxError):
            libcst.parse_module(file.source.text)

    return _each(files, work)


def one_path(files: Sequence[Measured]) -> list[float]:
    """GradSense as a keystroke pays for it: the text parsed anew, one path of each function, rules and messages."""
    return _gradsense(files, first_path_only=True)


def all_paths(files: Sequence[Measured]) -> list[float]:
    """GradSense to the end: branches flipped, up to its bounds."""
    return _gradsense(files, first_path_only=False)


def _gradsense(files: Sequence[Measured], *, first_path_only: bool) -> list[float]:
    # One project for each folder that was named: a module that many files import is parsed once, as in an editor.
    projects = {root: Project.for_paths([root]) for root in {file.root for file in files}}
    return _each(files, lambda file: check_source(file.source, projects[file.root], first_path_only=first_path_only))
