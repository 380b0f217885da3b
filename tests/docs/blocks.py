"""The blocks of code in the documents, each with where it stands and what is said of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The pages of the rules are made from what tests/rules runs.
DOCUMENTS = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FENCED = re.compile(r"^( *)```(?P<info>[^\n]*)\n(?P<text>.*?)^\1```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}[^\s].*\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block.

    Attributes:
        document: the file's name.
        line: its first line there.
        language: what it is written in, empty where that is not said.
        told: what is said of it: `raises`, `grows`, `clean`, or `quiet` for one that is checked and not run.
        text: what is in it.
    """

    document: str
    line: int
    language: str
    told: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def fenced() -> list[Block]:
    """All blocks between fences."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for match in FENCED.finditer(text):
            language, _, told = match["info"].partition(" ")
            line = text.count("\n", 0, match.start()) + 2
            found.append(Block(path.name, line, language, told, match["text"]))
    return found


def commands() -> list[Block]:
    """All indented blocks: commands to type."""
    found = []
    for path in DOCUMENTS:
        text = FENCED.sub(lambda match: "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
        for match in INDENTED.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(path.name, line, "", "", re.sub("^ {4}", "", match[0], flags=re.MULTILINE)))
    return found
