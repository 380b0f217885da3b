"""What every fact of the books has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from gradsense.machine.place import Place


@dataclass(eq=False, kw_only=True)
class Event:
    """Something that happened on one path.

    Attributes:
        place: where it surfaces: the line that torch's traceback would end on, or the line concerned.
        sure: whether every fact of its proof is known.
        raises: whether torch raises there.
        silent: whether torch says nothing and computes something else than the program means.
        ends: whether the path ends there if it surely does. What an old torch did instead may be followed.
        caught: an `except` of the program takes the error.
        assumed: found in a call that we assume a caller to make.
        rerun: happens only when a notebook's cell is run again.
        behind: an error that surely raises before the program gets here: this is what comes once that one is mended.
        certain: set after all paths were run: it happens on every path that gets there.
        also: other lines of the story that the proof passed through.
    """

    raises: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    ends: ClassVar[bool] = True

    place: Place
    sure: bool = True
    caught: bool = False
    certain: bool = True
    assumed: bool = False
    rerun: bool = False
    behind: Event | None = None
    also: list[tuple[Place, str]] = field(default_factory=list)

    @property
    def culprit(self) -> Place:
        """Where the person should edit, as far as the machine can tell."""
        return self.place

    @property
    def is_own_doing(self) -> bool:
        """Whether a cell that is run again fails on what it left behind itself, not on what another cell made once."""
        return False

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same fault met on another path."""
        return (type(self).__name__, self.culprit.key, self.place.key)
