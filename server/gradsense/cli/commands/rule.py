"""`gradsense rule CODE`: the page of one rule, or of all."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands
    from gradsense.rules.registry import Rule


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser("rule", help="explain a rule", description="Prints the page of a rule.")
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as GS201, or a name such as graph-kept")
    parser.add_argument("--all", action="store_true", help="all rules, one after the other")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints markdown, rendered where a person reads it in a terminal."""
    from gradsense.rules.registry import RULES

    if arguments.all == bool(arguments.code):
        arguments.parser.error("name one rule, or --all")
    if arguments.all:
        pages = [page(rule) for rule in RULES.values()]
    else:
        wanted = [r for r in RULES.values() if arguments.code.upper() == r.code or arguments.code.lower() == r.name]
        if not wanted:
            arguments.parser.error(f"there is no rule {arguments.code}; `gradsense rules` lists them all")
        pages = [page(wanted[0])]
    text = "\n".join(pages)
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return 0
    from rich.markdown import Markdown

    from gradsense.cli.terminal import console

    terminal = console(sys.stdout)
    terminal.print(Markdown(text), soft_wrap=False, width=min(terminal.width, 100))
    return 0


def page(rule: Rule) -> str:
    """A rule's page in markdown."""
    return (
        f"# {rule.code} {rule.name}\n\n{rule.summary}\n\n{rule.explanation.strip()}\n\n"
        f"## Fails\n\n```python\n{rule.failing.strip()}\n```\n\n"
        f"## Mended\n\n```python\n{rule.mended.strip()}\n```\n"
    )
