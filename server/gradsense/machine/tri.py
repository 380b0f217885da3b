"""Facts that may be unknown: yes, no, or maybe, never silently false."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Tri(Enum):
    """A three-valued fact. It has no truth value, so that a lost `maybe` is an error and not a `no`."""

    NO = 0
    MAYBE = 1
    YES = 2

    # Facts are parts of keys very often: they are hashed as any object is, and not by their names.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a Tri has no truth value: compare it with `is`")


YES, NO, MAYBE = Tri.YES, Tri.NO, Tri.MAYBE


def tri(known: bool | None) -> Tri:
    """The fact for a Python boolean, where None says unknown."""
    return MAYBE if known is None else YES if known else NO


def any_of(facts: Iterable[Tri]) -> Tri:
    """Yes if one is yes, else maybe if one is maybe, else no."""
    found = NO
    for fact in facts:
        if fact is YES:
            return YES
        if fact is MAYBE:
            found = MAYBE
    return found


def both(first: Tri, second: Tri) -> Tri:
    """The weaker of two facts."""
    return first if first.value <= second.value else second
