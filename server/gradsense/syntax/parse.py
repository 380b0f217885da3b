"""Text to syntax tree; what cannot be read is left out and the rest stays."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from gradsense.syntax.depth import limit_depth
from gradsense.syntax.draft import Draft, attempt
from gradsense.syntax.recovery import recover
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Problem

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_PROBLEMS = 50
# A program of so many characters has some 250,000 lines; a longer text is data.
_MAX_LENGTH = 10_000_000


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """A source's tree, and what of its text is not in the tree.

    Expressions are at most `gradsense.syntax.depth.MAX_DEPTH` deep. Where an expression could not be read, the tree
    has the name `gradsense.syntax.source.UNKNOWN`.
    """

    source: Source
    tree: ast.Module
    problems: tuple[Problem, ...]


def parse(source: Source) -> ParsedModule:
    """Parse any text; never raises.

    A statement that is wrong is left out, or read in part, and reported as a problem; the rest of the program stays.
    Takes time linear in the length of the text. A text that is too long for any program is left out as a whole.
    """
    if len(source.text) > _MAX_LENGTH:
        message = f"this file has {len(source.text):,} characters and is left out; the most is {_MAX_LENGTH:,}"
        return ParsedModule(source, ast.Module([], []), (Problem(1, message),))
    problems = list(source.problems)
    tree: object = None
    if not source.rewrites and "\0" not in source.text:
        tree = attempt(source.text)
    if not isinstance(tree, ast.Module):
        draft = Draft.of(source)
        _sanitize(draft)
        result = attempt("\n".join(draft.lines))
        if isinstance(result, ast.Module):
            tree = result
        else:
            tree = recover(draft, result, [cell.first_line - 1 for cell in source.cells])
        draft.restore_columns(tree)
        problems += draft.problems
    problems += limit_depth(tree, source.lines)
    return ParsedModule(source, tree, _listed(problems))


def _sanitize(draft: Draft) -> None:
    """Replace characters that the parser cannot be given by others of as many bytes."""
    nul = 0
    for index, line in enumerate(draft.lines):
        if "\0" in line:
            draft.lines[index] = line.replace("\0", " ")
            nul = nul or index + 1
        if not line.isascii() and _SURROGATE.search(line):
            draft.lines[index] = _SURROGATE.sub("\ufffd", draft.lines[index])
    if nul:
        message = "NUL bytes, first on this line, were read as spaces; Python refuses a file that holds them"
        draft.problems.append(Problem(nul, message))


def _listed(problems: list[Problem]) -> tuple[Problem, ...]:
    """In order of lines, and not more than anyone reads."""
    problems.sort(key=lambda problem: problem.line)
    more = len(problems) - _MAX_PROBLEMS
    if more > 0:
        line = problems[_MAX_PROBLEMS].line
        problems[_MAX_PROBLEMS:] = [Problem(line, f"{more} more problems from here on")]
    return tuple(problems)
