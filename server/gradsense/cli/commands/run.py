"""`gradsense run`: runs a step for real and says what torch did."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands

STDIN = "-"
FORMATS = ("full", "json")

_EPILOG = """\
what runs:
  FILE             the whole script or notebook
  FILE.py:LINE     the `# %%` cell of that line with those before it; in a function, a call of it without arguments
  FILE.ipynb:CELL  that cell of the notebook with those before it
  -m MODULE        a module by its name, as `python -m` runs it

What stands behind -- are the program's own arguments. Loops that train are cut to a few passes. Its
output goes to standard error.

exit codes:
  0  the step ran, and nothing is wrong with it
  1  it raises, its graph grows, a gradient is not a number, or one is wrong without an error
  2  it could not be run or not be judged, or wrong usage
"""


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser(
        "run",
        usage="gradsense run [OPTION ...] (FILE[:LINE] | -m MODULE) [-- ARG ...]",
        help="run a step for real and say what torch did",
        description="Runs a program for a few passes with your Python and torch, and says which line failed, which\n"
        "saved and which wrote; whether the graph grows and who holds it; and what each pass costs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    named = parser.add_mutually_exclusive_group(required=True)
    named.add_argument("target", nargs="?", metavar="FILE[:LINE]", help="a script or notebook, or - for standard input")
    named.add_argument("-m", dest="module", metavar="MODULE", help="a module, looked for in the working folder first")
    parser.add_argument("--output-format", choices=FORMATS, default="full", metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--traceback", action="store_true", help="show the tracebacks whole, torch's lines too")
    parser.set_defaults(run=run, parser=parser)

    what = parser.add_argument_group("what runs, and where")
    what.add_argument("--call", metavar="EXPR", help="run the definitions of the file and then this call")
    what.add_argument(
        "--with-fix",
        metavar="CODE[:LINE]",
        help="run it, and then a copy with the fix for that finding: is it clean, and are the losses the same",
    )
    what.add_argument("--path", metavar="NAME", help="what standard input is called and where it belongs")
    what.add_argument("--python", metavar="PYTHON", help="the interpreter, or the folder of its environment")
    what.add_argument("--device", type=_device, metavar="DEVICE", help="cpu, cuda or cuda:N (default: as it asks for)")
    what.add_argument("--cwd", metavar="FOLDER", help="the working folder (default: the current one)")
    what.add_argument("--env", action="append", type=_variable, metavar="NAME=VALUE", help="an environment variable")
    source = what.add_mutually_exclusive_group()
    source.add_argument("--config", metavar="FILE", help="the pyproject.toml to read, instead of the nearest one")
    source.add_argument("--no-config", action="store_true", help="read none")

    how = parser.add_argument_group("how much of it")
    how.add_argument("--passes", type=_number, metavar="N", help="passes of each loop that trains (default: 3)")
    how.add_argument("--batches", type=_number, metavar="N", help="batches of each loader (default: 3)")
    how.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="end it then (default: 60)")
    how.add_argument("--no-anomaly", action="store_true", help="without torch's anomaly mode")
    how.add_argument("--no-check-nan", action="store_true", help="do not stop at gradients that are not a number")
    how.add_argument("--measure-cost", action="store_true", help="time passes plain, in anomaly mode, and probed")
    how.add_argument("--nproc-per-node", type=_number, metavar="N", help="run it as N ranks, as torchrun does")

    checks = parser.add_argument_group("for CI")
    checks.add_argument("--assert-no-growth", action="store_true", help="fail only where the graph grows")
    checks.add_argument("--assert-clean", action="store_true", help="fail unless the step was run and is clean")


def own_arguments(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parts the arguments of `gradsense run` from those of the program that it runs, which stand behind `--`."""
    if "--" not in argv or argv[0] != "run":
        return list(argv), []
    end = argv.index("--")
    return list(argv[:end]), list(argv[end + 1 :])


def run(arguments: argparse.Namespace) -> int:
    """Runs, shows, and gives the exit code."""
    from gradsense.cli.running import execute

    return execute(arguments)


def _number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1")
    return number


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value


def _device(text: str) -> str:
    from gradsense.run.settings import device

    try:
        return device(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} {error}") from None


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not of the form NAME=VALUE")
    return name, value
