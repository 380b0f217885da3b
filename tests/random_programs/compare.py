"""Holds what GradSense says about a program against what torch did with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from gradsense.check import check_source
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax.source import Source
from oracle import Outcome

Signature = tuple[str, str, tuple[str, ...]]
PATH = "main.py"
# Each kind of error that autograd raises, by its text in torch 2.13.
KINDS = {
    "second walk": r"backward through the graph a second time",
    "modified": r"has been modified by an inplace operation",
    "leaf write": r"a leaf Variable that requires grad",
    "view write": r"is a view and (is being|its base or another view)|view was created in (no_grad|inference) mode",
    "no graph": r"does not require grad and does not have a grad_fn",
    "not scalar": r"grad can be implicitly created only for scalar outputs",
    "not in graph": r"appears to not have been used in the graph|differentiated Tensors does not require grad",
    "detached saved": r"saved tensor that has been detached in-place",
    "detached view": r"Can't detach views in-place",
    "out=": r"functions with out=\.\.\. arguments don't support automatic differentiation",
    "flag of non-leaf": r"only change requires_grad flags of leaf variables",
    "overlap": r"more than one element of the written-to tensor refers to a single memory location",
    "inference": r"[Ii]nference tensor",
    "hook": r"cannot register a hook on a tensor|can't retain_grad on Tensor",  # the second also of backward(inputs=…)
    "numpy": r"Can't call numpy\(\) on Tensor that requires grad",
    "deepcopy": r"support the deepcopy protocol",
    "optimizer": r"can't optimize a non-leaf Tensor",
    "checkpoint": r"torch\.utils\.checkpoint|backward mode checkpoint",
    "no gradient": r"'NoneType'",
}
KEEPING_CODES = frozenset({"GS301", "GS302"})
GROWTH_CODES = KEEPING_CODES | {"GS102", "GS303", "GS304", "GS305"}


class Verdict(str, Enum):
    """How a prediction and the truth compare."""

    AGREE = "agree"
    MAYBE = "may raise, and does"
    MISSED = "missed"
    OTHER_KIND = "another error"
    OTHER_LINE = "another line"
    FALSE_ALARM = "false alarm"
    CRASHED = "checker crashed"
    REJECTED = "not autograd's error"


@dataclass(frozen=True)
class Claim:
    """One finding, as far as it is compared.

    Attributes:
        code: the rule's code.
        sure: it is an error.
        kind: the kind of the exception that it expects, None where it expects none.
        lines: the lines of the finding and of its story.
        line: the line of its squiggle.
        text: what it says.
    """

    code: str
    sure: bool
    kind: str | None
    lines: frozenset[int]
    line: int
    text: str


@dataclass(frozen=True)
class Comparison:
    """The verdict on one program.

    Attributes:
        verdict: how the prediction compares.
        kind: the kind of torch's error, None where it ran to its end.
        said: what was claimed about exceptions, for people.
        grows: the graph grew over the passes of a loop that walks. None where it grew only in loops without a walk
            (one that sums up a pass's loss, say), or where the program raised.
        said_growth: growth was predicted.
        codes: the codes of those claims.
        message: the text of torch's exception, empty where it ran to its end.
    """

    verdict: Verdict
    kind: str | None
    said: str
    grows: bool | None
    said_growth: bool
    codes: tuple[str, ...] = ()
    message: str = ""

    @property
    def signature(self) -> Signature:
        """What a smaller program must have in common with this one to show the same disagreement.

        What else is said of a program whose exception is missed may go.
        """
        missed = self.verdict in (Verdict.MISSED, Verdict.OTHER_KIND)
        verdict = Verdict.MISSED if missed else self.verdict
        return (verdict.value, self.message[:60], () if missed else self.codes[:1])


def kind_of(message: str) -> str | None:
    """The kind of an exception's text, None for one that is not autograd's."""
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, message)), None)


def claims_of(findings: Iterable[Finding]) -> list[Claim]:
    """What findings claim: errors and warnings, and the growth that is worth no more than information."""
    claims = []
    for finding in findings:
        if finding.severity.rank > Severity.WARNING.rank and finding.code not in KEEPING_CODES:
            continue
        spans = [finding.span, *(related.span for related in finding.related)]
        lines = frozenset(line for span in spans for line in range(span.line, span.end_line + 1))
        sure = finding.severity is Severity.ERROR
        kind = None
        if finding.expected is not None and finding.severity.rank <= Severity.WARNING.rank:
            kind = kind_of(finding.expected) or "unknown kind"
        claims.append(Claim(finding.code, sure, kind, lines, finding.span.line, finding.message))
    return claims


def predict(text: str) -> list[Claim]:
    """What GradSense says about a program."""
    return claims_of(check_source(Source.from_text(PATH, text)).findings)


def compare(outcome: Outcome, claims: list[Claim]) -> Comparison:
    """Judges the claims about a program by what torch did."""
    raising = [claim for claim in claims if claim.sure or claim.kind is not None]
    said = "; ".join(f"{'' if c.sure else 'may: '}{c.code} {c.kind} line {c.line}" for c in raising) or "nothing"
    kind = None
    growing = [loop for loop in outcome.loops if loop.grows]
    growth = any(loop.walks for loop in growing) if growing else False
    unclear = bool(growing) and not growth
    if outcome.kind in ("raises", "timeout"):
        kind, unclear = kind_of(outcome.message), True
        verdict = Verdict.REJECTED if kind is None else _judge_raise(kind, outcome.line, raising)
    else:
        verdict = Verdict.FALSE_ALARM if raising else Verdict.AGREE
    said_growth = any(claim.code in GROWTH_CODES and claim.kind is None for claim in claims)
    codes = tuple(sorted({claim.code for claim in raising}))
    return Comparison(verdict, kind, said, None if unclear else growth, said_growth, codes, outcome.message)


def _judge_raise(kind: str, line: int | None, raising: list[Claim]) -> Verdict:
    same = [claim for claim in raising if claim.kind == kind]
    if any(claim.sure and line in claim.lines for claim in same):
        return Verdict.AGREE
    if any(line in claim.lines for claim in same):
        return Verdict.MAYBE
    if not raising:
        return Verdict.MISSED
    return Verdict.OTHER_LINE if same else Verdict.OTHER_KIND
