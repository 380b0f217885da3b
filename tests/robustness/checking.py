"""Checking a program that may take for ever, and whether the check came through it."""

from __future__ import annotations

import re
import time

from gradsense.check import Report, check_source
from gradsense.machine.limits import Limits
from gradsense.syntax import Source

HEAD = """\
import torch
from torch import nn
"""
# What stands behind the hostile part: a fault that is found where the check gets so far.
FAULT = """
model_at_the_end = nn.Linear(4, 1)
loss_at_the_end = model_at_the_end(torch.randn(8, 4)).mean()
loss_at_the_end.backward()
loss_at_the_end.backward()
"""
# Smaller than the usual ones, so that the tests are quick; what they cut is cut in the same way.
LIMITS = Limits(paths=6, steps=30_000, visits=3_000_000, seconds=12)
# Seconds, for what takes one or two.
BOUND = 30.0


def check(hostile: str, limits: Limits = LIMITS) -> Report:
    """Checks a program with a hostile part before a fault.

    Raises:
        AssertionError: it took too long, or the machine itself failed on a statement.
    """
    source = Source.from_text("train.py", HEAD + hostile + FAULT)
    start = time.process_time()
    report = check_source(source, limits=limits)
    # Fixes are made when they are asked for.
    assert all(isinstance(finding.fixes, tuple) for finding in report.findings)
    assert time.process_time() - start < BOUND
    assert report.failures == []
    return report


def finds_the_fault(report: Report) -> bool:
    """Whether the fault behind the hostile part was found."""
    return any(finding.code == "GS101" and "loss_at_the_end" in finding.message for finding in report.findings)


def lines(count: int, line: str) -> str:
    """So many lines; `{i}` in the line is their number, `{next}` the next."""
    return "".join(line.replace("{i}", str(i)).replace("{next}", str(i + 1)) + "\n" for i in range(count))


def stairs(count: int, step: str, inside: str) -> str:
    """Blocks in blocks; `{i}` in the header is the depth."""
    steps = "".join(" " * i + step.replace("{i}", str(i)) + "\n" for i in range(count))
    return steps + " " * count + inside + "\n"


def sections(text: str) -> dict[str, str]:
    """The programs of a text by their headings, `## name`."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
