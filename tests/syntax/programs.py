"""What several of these tests need: real programs, and ways to look at a tree."""

from __future__ import annotations

import ast
from pathlib import Path

import gradsense
from gradsense.syntax import ParsedModule, Source, parse

PACKAGE = Path(gradsense.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def read(text: str, path: str = "program.py") -> ParsedModule:
    """Parse a text."""
    return parse(Source.from_text(path, text))


def code(text: str) -> str:
    """What is left of a text, as Python would write it."""
    return ast.unparse(read(text).tree)


def messages(text: str) -> list[tuple[int, str]]:
    """The problems of a text."""
    return [(problem.line, problem.message) for problem in read(text).problems]


def lines_of(text: str) -> str:
    """All messages in one, to look for words in."""
    return "\n".join(message for _, message in messages(text))


def names_in_place(parsed: ParsedModule) -> list[str]:
    """The names of the tree whose span in the source holds something else."""
    wrong = []
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Name) and not node.id.startswith("_gradsense"):
            text = parsed.source.slice(parsed.source.span_of(node))
            if text != node.id:
                wrong.append(f"{node.id} at {node.lineno}: {text!r}")
    return wrong
