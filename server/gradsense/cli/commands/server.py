"""`gradsense server`: the language server, on standard input and output."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands


def add(commands: Subcommands) -> None:
    """Declares the arguments; editors pass `--stdio` out of habit, and there is nothing else."""
    parser = commands.add_parser(
        "server", help="start the language server", description="Serves an editor on standard input and output."
    )
    parser.add_argument("--stdio", action="store_true", help="accepted and not needed: it is the only way")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until the editor says that it is done."""
    from gradsense.lsp.main import serve

    return serve()
