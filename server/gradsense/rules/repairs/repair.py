"""One way to take a cut away, before it is known how far it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense.fixes.fix import Edits


@dataclass(frozen=True)
class Repair:
    """One way to take a cut away.

    Args:
        does: what it does, as the end of a title.
        exact: whether the value stays the same, and only its graph comes back.
    """

    does: str
    edits: Edits | None
    exact: bool
