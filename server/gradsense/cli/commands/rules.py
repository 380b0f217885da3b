"""`gradsense rules`: the list of all rules."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser("rules", help="list all rules", description="Lists all rules, one a line.")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints code, name and summary in columns."""
    from gradsense.cli.pages import pages

    found = pages().values()
    widest = max(len(page.name) for page in found)
    for page in found:
        sys.stdout.write(f"{page.code}  {page.name:<{widest}}  {page.summary}\n")
    return 0
