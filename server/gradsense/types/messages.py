"""What the server and its worker for types say to each other, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gradsense.machine.outside import Known


@dataclass(frozen=True, slots=True)
class Where:
    """The workspace that a question is about.

    Args:
        root: the folder of the workspace.
        interpreter: the Python that the person chose, or None to search for theirs.
        trusted: whether that may be started to say where its packages are.
    """

    root: str
    interpreter: str | None
    trusted: bool


@dataclass(frozen=True, slots=True)
class LookUp:
    """Asks what a dotted name stands for.

    Args:
        where: the workspace.
    """

    yields: ClassVar[bool] = False

    name: str
    where: Where


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a name stands for."""

    known: Known
