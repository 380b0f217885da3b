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
    from gradsense.rules.registry import RULES

    widest = max((len(rule.name) for rule in RULES.values()), default=0)
    for rule in RULES.values():
        sys.stdout.write(f"{rule.code}  {rule.name:<{widest}}  {rule.summary}\n")
    return 0
