"""`gradsense rule CODE`: the page of one rule, or of all."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser("rule", help="explain a rule", description="Prints the page of a rule.")
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as GS201, or a name such as graph-kept")
    parser.add_argument("--all", action="store_true", help="all rules, one after the other")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints markdown, rendered where a person reads it in a terminal."""
    from gradsense.cli.pages import pages

    if arguments.all == bool(arguments.code):
        arguments.parser.error("name one rule, or --all")
    wanted = list(pages().values())
    if arguments.code:
        wanted = [page for page in wanted if arguments.code.lower() in (page.code.lower(), page.name)]
        if not wanted:
            arguments.parser.error(f"there is no rule {arguments.code}; `gradsense rules` lists them all")
    text = "\n".join(page.markdown for page in wanted)
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return 0
    from rich.markdown import Markdown

    from gradsense.cli.terminal import console

    terminal = console(sys.stdout)
    terminal.print(Markdown(text), soft_wrap=False, width=min(terminal.width, 100))
    return 0
