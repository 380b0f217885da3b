"""What a rule says to a person: a finding, its place, the other lines of its story, and its fixes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from gradsense.fixes.fix import Fix
from gradsense.syntax.spans import Span


class Severity(str, Enum):
    """How sure and how bad; the values are those of the JSON output."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"

    @property
    def rank(self) -> int:
        """0 for an error, rising as it matters less."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFORMATION: 2, Severity.HINT: 3}


@dataclass(frozen=True, slots=True)
class Related:
    """Another line of the story, such as the one that saved the tensor."""

    path: str
    span: Span
    message: str


@dataclass
class Finding:
    """One squiggle.

    Args:
        code: the rule's code, such as `GS201`.
        name: the rule's name, such as `inplace-on-saved`.
        severity: how certain and how bad it is.
        message: one or two sentences that name the variable, the op and the lines.
        path: the file, as the source was named.
        span: the expression that the person should edit.
        related: the other lines of the story, in the order they should be read.
        expected: the text of the exception that torch will raise, or None where it raises nothing.
        rerun: whether it happens only when a notebook's cell is run again.
        behind: whether an error comes before it, which has to be mended first.
        growth: how many nodes of a graph are kept more each pass of a loop, where that is what it says.
        tags: LSP's diagnostic tags by their own names (`unnecessary`), for hints.
        make_fixes: builds the fixes when someone asks for them.
    """

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    span: Span
    related: tuple[Related, ...] = ()
    expected: str | None = None
    rerun: bool = False
    behind: bool = False
    growth: int | None = None
    tags: tuple[str, ...] = ()
    make_fixes: Callable[[], tuple[Fix, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """The edits on offer, the preferred one first."""
        return self.make_fixes()

    @property
    def sort_key(self) -> tuple[str, Span, str]:
        """Orders findings by file, place and code."""
        return (self.path, self.span, self.code)
