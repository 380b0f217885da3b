"""Where in a program something happened: an expression, and the calls that led to it."""

from __future__ import annotations

import ast

from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

# (loop instance, pass) of every loop around, outermost first.
Epoch = tuple[tuple[int, int], ...]
# A file and the range of an expression in it.
PlaceKey = tuple[str, int, int, int, int]


class Place:
    """One expression or statement as it was reached once.

    Args:
        source: the file.
        node: the expression or statement.
        stack: the call expressions that led here, outermost first.
    """

    __slots__ = ("node", "source", "stack")

    def __init__(self, source: Source, node: ast.AST, stack: tuple[Place, ...] = ()) -> None:
        self.source = source
        self.node = node
        self.stack = stack

    @property
    def line(self) -> int:
        """The line on which the expression starts, from 1."""
        return getattr(self.node, "lineno", 1)

    @property
    def span(self) -> Span:
        """The expression's exact range."""
        return self.source.span_of(self.node)

    @property
    def path(self) -> str:
        """The file's name as the source was named."""
        return self.source.path

    @property
    def key(self) -> PlaceKey:
        """Identifies the expression, whichever calls led to it."""
        node = self.node
        return (
            self.source.path,
            getattr(node, "lineno", 1),
            getattr(node, "col_offset", 0),
            getattr(node, "end_lineno", 1) or 1,
            getattr(node, "end_col_offset", 0) or 0,
        )

    @property
    def text(self) -> str:
        """The expression as it is written."""
        return self.source.slice(self.span)

    def __repr__(self) -> str:
        return f"<{self.path}:{self.line}>"


def common_frame(place: Place, stack: tuple[Place, ...]) -> Place:
    """The part of `place` that lies in the frame whose call stack is `stack`: the call made there, or `place` itself.

    Falls back to `place` where the two do not share the frame.
    """
    own = place.stack
    depth = len(stack)
    if len(own) > depth and all(a.node is b.node for a, b in zip(own, stack, strict=False)):
        return own[depth]
    return place


def carried_from(epoch: Epoch, now: Epoch) -> bool:
    """Whether something made in `epoch` was made in another pass than the one that `now` is in."""
    return epoch[: len(now)] != now


def in_one_cell(one: Place, other: Place) -> bool:
    """Whether two places, or the calls that led to them, are in the same cell of a notebook."""
    first, second = ((*place.stack, place)[0] for place in (one, other))
    if first.source is not second.source:
        return False
    cells = [place.source.cell_of(place.line) for place in (first, second)]
    return cells[0] is not None and cells[0] is cells[1]
