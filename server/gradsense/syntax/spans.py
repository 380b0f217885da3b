"""Places in a program: spans and what is wrong at them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a program; lines count from 1, columns from 0 in code points, the end is not included."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def start(self) -> tuple[int, int]:
        """Line and column of the first character."""
        return self.line, self.column

    @property
    def end(self) -> tuple[int, int]:
        """Line and column just behind the last character."""
        return self.end_line, self.end_column

    @property
    def is_empty(self) -> bool:
        """True for a place between two characters."""
        return self.start == self.end

    def contains(self, other: Span) -> bool:
        """True if `other` lies wholly inside this span."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """True if both spans share a character; an empty span overlaps only when strictly inside the other."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about the text that kept GradSense from reading all of it.

    `line` and `end_line` (both included) bound what was left out or reinterpreted; `end_line` 0 means one line.
    """

    line: int
    message: str
    end_line: int = 0

    @property
    def last_line(self) -> int:
        """The last line concerned."""
        return self.end_line or self.line
