"""The parts of README.md that are made from the program: a finding as it is shown, and the table of rules."""

from __future__ import annotations

import re
from collections.abc import Callable

from documenting.shown import as_shown, first_of_examples
from gradsense.cli.pages import pages


def renewed(text: str) -> str:
    """The text with each `<!-- NAME: … -->` part made anew, up to its `<!-- end -->`.

    Raises:
        ValueError: a part is missing, or is there twice.
    """
    for name, make in PARTS.items():
        part = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->\n)", re.DOTALL)
        text, count = part.subn(lambda found, make=make: found[1] + make() + found[2], text)
        if count != 1:
            raise ValueError(f"README.md has {count} parts named {name}, and should have one")
    return text


def finding() -> str:
    """The first finding of an example, as a terminal shows it."""
    return f"```\n{as_shown(first_of_examples())}\n```\n"


def rules() -> str:
    """All rules with what they find."""
    rows = [(page.code, page.name, page.summary.replace("|", r"\|")) for page in pages().values()]
    table = [("code", "name", "what is found"), ("---", "---", "---"), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in table)


PARTS: dict[str, Callable[[], str]] = {"finding": finding, "rules": rules}
