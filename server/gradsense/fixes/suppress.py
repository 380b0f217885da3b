"""Adds a comment that tells GradSense to leave a line alone."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from gradsense.fixes.fix import Edits
from gradsense.fixes.layout import insertion
from gradsense.fixes.strings import lines_inside_strings
from gradsense.fixes.tree import first_line, last_line
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span
from gradsense.syntax.suppressions import Suppressions

_IGNORE = re.compile(r"#\s*gradsense:\s*ignore(?![\w-])\s*\[(?P<codes>[^\]]*)\]", re.IGNORECASE)


def suppress_line(source: Source, tree: ast.Module, line: int, code: str) -> Edits | None:
    """Adds `# gradsense: ignore[CODE]` to a line, or the code to the list that the line has.

    Where no comment can stand on the line, since it ends in a backslash or within a string, the comment goes to the
    next line of the same statement that can have one.

    Args:
        line: the line on which the finding begins.
        code: the rule's code, such as `GS301`.

    Returns:
        None where a comment hides the code there already.
    """
    if Suppressions.of(source).hides(code, line):
        return None
    place = _line_for_comment(source, tree, line)
    text = source.lines[place - 1]
    comment = _comment_column(source, tree, place)
    match = _IGNORE.search(text, comment) if comment is not None else None
    if match is None:
        gap = "" if not text.strip() else "  "
        end = len(text.rstrip())
        return (TextEdit(source.path, Span(place, end, place, len(text)), f"{gap}# gradsense: ignore[{code}]"),)
    listed = match["codes"].rstrip(" \t,")
    end = match.start("codes") + len(listed)
    return (insertion(source, (place, end), f", {code}" if listed else code),)


def _line_for_comment(source: Source, tree: ast.Module, line: int) -> int:
    first, last = _logical_line(tree, line)
    inside = lines_inside_strings(source, first, last) or set()
    for candidate in range(line, last + 1):
        if candidate + 1 not in inside and not source.lines[candidate - 1].endswith("\\"):
            return candidate
    return line


def _logical_line(tree: ast.Module, line: int) -> tuple[int, int]:
    """The first and last line of the simple statement, or of the compound one's header, that a line is in."""
    first = last = line
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                if not first_line(child) <= line <= last_line(child):
                    continue
                first, last = first_line(child), last_line(child)
                body = getattr(child, "body", None)
                if isinstance(body, list) and body:
                    last = max(first_line(body[0]) - 1, child.lineno) if line < first_line(body[0]) else last
            elif not isinstance(child, ast.ExceptHandler | ast.match_case):
                continue
            pending.append(child)
    return first, last


def _comment_column(source: Source, tree: ast.Module, line: int) -> int | None:
    first, last = _logical_line(tree, line)
    text = source.slice(Span(first, 0, last, len(source.lines[last - 1]))) + source.newline
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.COMMENT and first + token.start[0] - 1 == line:
                return token.start[1]
    except (tokenize.TokenError, SyntaxError):
        # The statement is being typed; a comment before the break has been found by now.
        return None
    return None
