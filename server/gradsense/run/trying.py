"""What a fix that was tried on a copy changed: whether the step is clean with it, and its losses the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gradsense.run import words
from gradsense.run.report import FixTried, Report

_TOLERANCE = 1e-4


def compared(report: Report, before: Report, code: str, title: str) -> Report:
    """The report of a mended step, with what the fix changed.

    Args:
        report: with the fix.
        before: without it.
        code, title: the finding, and the fix.
    """
    same = None
    if report.loss and before.loss:
        same = _alike(report.loss, before.loss)
    elif report.roots and before.roots:
        # One of them did not come to the end of a pass. A fix may walk the sum of what was walked one by one.
        same = _alike(report.roots[:1], before.roots[:1]) or _alike(report.roots[:1], (math.fsum(before.roots),))
    return replace(report, fix=FixTried(code, title, report.is_clean, same, before.loss))


def _alike(losses: Sequence[float], others: Sequence[float]) -> bool:
    pairs = zip(losses, others, strict=False)  # as many as both have
    return all(math.isclose(new, old, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE) for new, old in pairs)


def sentence(report: Report) -> str:
    """What trying the fix showed."""
    tried = report.fix
    assert tried is not None
    with_it = f"with “{tried.title}” the step "
    if not tried.clean:
        return f"{with_it}is still not clean: {words.headline(report)}"
    if tried.same_loss is None:
        return f"{with_it}is clean; there were no losses to compare"
    count = min(len(report.loss), len(tried.loss_before))
    what = f"the losses of the first {count} passes are"
    if count < 2:
        what = f"the loss of the first {'pass' if count else 'walk'} is"
    return f"{with_it}is clean, and {what} {'the same as before' if tried.same_loss else 'not the same as before'}"
