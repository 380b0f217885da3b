"""Renews the parts of README.md that are made from the program: a finding as it is shown, and the table of rules.

usage: python server/tools/docs.py [--check]      (--check changes nothing, and exits with 1 where it would)
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from gradsense.cli.formats import write
from gradsense.cli.jobs import Job, run_job
from gradsense.cli.pages import pages
from gradsense.config import Settings

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
EXAMPLES = ROOT / "examples"
COMMAND = "python server/tools/docs.py"


def main(arguments: list[str]) -> int:
    """Renews the file, or says whether it is as it should be."""
    before = README.read_text(encoding="utf-8")
    after = renewed(before)
    if "--check" in arguments:
        return int(before != after)
    README.write_text(after, encoding="utf-8")
    return 0


def renewed(text: str) -> str:
    """The text with each `<!-- NAME: … -->` part made anew, up to its `<!-- end -->`."""
    for name, make in PARTS.items():
        part = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->\n)", re.DOTALL)
        text, count = part.subn(lambda found, make=make: found[1] + make() + found[2], text)
        if count != 1:
            raise ValueError(f"README.md has {count} parts named {name}, and should have one")
    return text


def finding() -> str:
    """The first finding of an example, as a terminal shows it."""
    folder = Path.cwd()
    os.chdir(EXAMPLES)
    try:
        result = run_job(Job(("train.py",), Settings()))
    finally:
        os.chdir(folder)
    result.findings = result.findings[:1]
    out = io.StringIO()
    write("full", result, out)
    return f"```\n{out.getvalue().partition('Found ')[0].rstrip()}\n```\n"


def rules() -> str:
    """All rules with what they find."""
    rows = [(page.code, page.name, page.summary.replace("|", r"\|")) for page in pages().values()]
    table = [("code", "name", "what is found"), ("---", "---", "---"), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in table)


PARTS: dict[str, Callable[[], str]] = {"finding": finding, "rules": rules}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
