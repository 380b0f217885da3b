"""Which lines of a text belong to a string that runs over several of them."""

from __future__ import annotations

import io
import tokenize

from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span


def lines_inside_strings(source: Source, first: int, last: int) -> set[int] | None:
    """The lines that begin within a string; None where the text cannot be read token by token."""
    text = source.slice(Span(first, 0, last, len(source.lines[last - 1])))
    inside: set[int] = set()
    depth: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                inside.update(range(first + token.start[0], first + token.end[0]))
            elif kind.endswith("STRING_START"):
                depth.append(token.start[0])
            elif kind.endswith("STRING_END"):
                inside.update(range(first + depth.pop(), first + token.end[0]))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    return inside
