"""The entry point `gradsense`: arguments to subcommands, and what holds for all of them.

Everything that is slow to import is imported by the subcommand that needs it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradsense import __version__
from gradsense.cli.commands import check, explain, rule, rules, run, server
from gradsense.cli.exits import INTERRUPTED, PIPE_CLOSED, TROUBLE
from gradsense.cli.terminal import settle_streams

if TYPE_CHECKING:
    Subcommands = argparse._SubParsersAction[argparse.ArgumentParser]

_EXIT_CODES = """\
exit codes:
  0  no errors and no warnings found
  1  some found
  2  wrong usage, a file that could not be checked, or a fault of GradSense itself
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code; never raises but `SystemExit` for help and wrong usage."""
    settle_streams()
    own, program = run.own_arguments(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(own)
    arguments.program_arguments = program
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. What is left in the buffers must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        return _internal_error(error)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gradsense",
        description="Finds what PyTorch's autograd will stumble over, without running the program.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gradsense {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (check, run, explain, rule, rules, server):
        command.add(commands)
    return parser


def _internal_error(error: Exception) -> int:
    """Says that it is our fault, in a line; the traceback is for whoever asks for it."""
    if os.environ.get("GRADSENSE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    sys.stderr.write(
        f"gradsense: internal error: {type(error).__name__}: {error}\n"
        "Please report it, with the output of the same command under GRADSENSE_TRACEBACK=1.\n"
    )
    return TROUBLE
