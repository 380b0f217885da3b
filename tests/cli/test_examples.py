"""The examples have the faults that their README explains, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradsense.cli.jobs import Job, run_job
from gradsense.config import Settings
from gradsense.files import File
from gradsense.regions import region

EXAMPLES = Path(__file__).parents[2] / "examples"

# The first fault of each raises; these take it away on its line, to see what comes after.
MENDS = {
    "train.py": ("h += self.skip(x)", "h = h + self.skip(x)"),
    "gan.py": ("discriminator(fake), zeros", "discriminator(fake.detach()), zeros"),
    "rnn.py": ("model(inputs, state)", "model(inputs, state and tuple(s.detach() for s in state))"),
    "training.ipynb": ("bump += 0.5", "bump = bump + 0.5"),
}

Row = tuple[int | None, int, str]


def explained(name: str) -> set[Row]:
    """Cell (from 1), line and code of each row about a file."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    section = text[text.index(f"## `{name}`") :]
    section = section[: section.find("\n## ", 1)] if "\n## " in section[1:] else section
    rows = re.findall(r"^\| (?:(\d+) \| )?(\d+) \| (GS\d+) \|", section, re.MULTILINE)
    return {(int(cell) if cell else None, int(line), code) for cell, line, code in rows}


def reported(name: str, data: bytes) -> tuple[set[Row], dict[str, set[int]]]:
    """The findings in the same form, and by code the lines that their stories name."""
    found: set[Row] = set()
    lines: dict[str, set[int]] = {}
    result = run_job(Job((name,), Settings(), data=data))
    for finding in result.findings:
        at = region(result.sources, finding.path, finding.span)
        found.add((None if at.cell is None else at.cell + 1, at.line, finding.code))
        story = {region(result.sources, other.path, other.span).line for other in finding.related}
        lines.setdefault(finding.code, set()).update(story | {at.line})
    return found, lines


@pytest.mark.parametrize("name", MENDS)
def test_the_readme_explains_what_is_found(name: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    old, new = MENDS[name]
    assert data.count(old.encode()) == 1
    first, story = reported(name, data)
    after, more = reported(name, data.replace(old.encode(), new.encode()))
    rows = explained(name)
    assert {code for _, _, code in rows} == {code for _, _, code in first | after}
    for cell, line, code in rows:
        assert (cell, line, code) in first | after or line in story.get(code, set()) | more.get(code, set())


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_example_is_explained(path: Path) -> None:
    if path.name != "README.md":
        assert path.name in MENDS
        assert File.read(str(path)).source.problems == ()
