"""What an offered fix is: a title, how far it may be trusted, and its edits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from gradsense.syntax.edits import TextEdit

Edits = tuple[TextEdit, ...]


class Applicability(str, Enum):
    """Whether an edit keeps what the program computes, apart from the fault; the values stand in the JSON output."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Fix:
    """One edit on offer.

    Args:
        title: what the edit does, as an editor's menu shows it.
        applicability: `SAFE` where the mended program computes the same, `UNSAFE` where results may change.
        edits: the text edits; none overlaps another.
        preferred: whether this is the fix that an editor should apply first.
    """

    title: str
    applicability: Applicability
    edits: Edits
    preferred: bool = False


def combine(*parts: Edits | None) -> Edits | None:
    """Joins the edits of several steps into those of one fix.

    Returns:
        All edits in the order of the text, each of them once, insertions at one place in the order given; None where
        a step could not be done or two steps touch the same text.
    """
    joined: dict[TextEdit, None] = {}
    for part in parts:
        if part is None:
            return None
        joined.update(dict.fromkeys(part))
    edits = sorted(joined, key=lambda edit: (edit.path, edit.span.start, edit.span.end))
    for before, after in pairwise(edits):
        if before.path == after.path and before.span.end > after.span.start:
            return None
    return tuple(edits)
