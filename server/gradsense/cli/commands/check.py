"""`gradsense check`: finds, and mends on request."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from gradsense.cli.exits import FOUND, TROUBLE
from gradsense.garbage import MANY, collect_seldom

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands

STDIN = "-"
FORMATS = ("full", "concise", "json", "sarif", "github")


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser(
        "check",
        help="check programs and notebooks",
        description="Finds what PyTorch's autograd will stumble over. Files are checked one by one; the files of a "
        "folder are one program.",
    )
    parser.add_argument(
        "paths", nargs="*", default=["."], metavar="PATH", help="files, notebooks, folders, or - for standard input"
    )
    parser.add_argument("--output-format", choices=FORMATS, default="full", metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--statistics", action="store_true", help="show only how often each rule found something")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 though something was found")
    parser.add_argument("--stdin-filename", metavar="NAME", help="what standard input is called and where it belongs")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="processes for many files (default: one a core)")
    parser.set_defaults(run=run, parser=parser)

    choice = parser.add_argument_group("what is reported")
    choice.add_argument(
        "--select", action="append", type=_selectors, metavar="CODES", help="codes or beginnings of them"
    )
    choice.add_argument("--ignore", action="append", type=_selectors, metavar="CODES", help="the same, left out")
    choice.add_argument("--show-hints", action="store_true", default=None, help="also what is allowed")
    source = choice.add_mutually_exclusive_group()
    source.add_argument("--config", metavar="FILE", help="the pyproject.toml to read, instead of the nearest one")
    source.add_argument("--no-config", action="store_true", help="read none")

    mending = parser.add_argument_group("mending")
    mending.add_argument("--fix", action="store_true", help="apply fixes that keep results the same")
    mending.add_argument("--unsafe-fixes", action="store_true", default=None, help="also fixes that may change results")
    mending.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of processes")
    return number


def _selectors(text: str) -> tuple[str, ...]:
    from gradsense.config import as_selector

    try:
        return tuple(as_selector(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(arguments: argparse.Namespace) -> int:
    """Checks, shows, and gives the exit code."""
    from gradsense.cli import report
    from gradsense.cli.formats import write
    from gradsense.cli.pages import unknown
    from gradsense.cli.planning import plan
    from gradsense.cli.pool import run_jobs
    from gradsense.cli.result import Result
    from gradsense.config import ConfigError

    collect_seldom(MANY)
    _object(arguments)
    for code in unknown(code for codes in (arguments.select or []) + (arguments.ignore or []) for code in codes):
        arguments.parser.error(f"there is no rule {code}; `gradsense rules` lists them all")
    processes = arguments.jobs or os.cpu_count() or 1
    try:
        jobs = plan(arguments, processes)
    except ConfigError as error:
        arguments.parser.error(str(error))
    result = Result()
    for part in run_jobs(jobs, processes):
        result.add(part)
    result.settle()

    out = sys.stdout
    if arguments.diff:
        for change in result.changes:
            report.write_diff(change, out)
    elif arguments.fix and arguments.paths == [STDIN]:
        out = sys.stderr
        report.pass_through(result, jobs[0].data or b"")
    elif arguments.fix:
        report.save_changes(result)
    report.tell_problems(result)
    if arguments.statistics:
        report.write_statistics(result, out)
    elif not arguments.diff:
        write(arguments.output_format, result, out)
    if result.failures:
        return TROUBLE
    found = bool(result.changes) if arguments.diff else result.has_faults
    return FOUND if found and not arguments.exit_zero else 0


def _object(arguments: argparse.Namespace) -> None:
    """Ends with a message where options do not go together."""
    complain = arguments.parser.error
    if STDIN in arguments.paths and len(arguments.paths) > 1:
        complain("standard input (-) is checked alone")
    if arguments.stdin_filename and arguments.paths != [STDIN]:
        complain("--stdin-filename is for standard input (-)")
    if arguments.statistics and arguments.output_format not in ("full", "concise"):
        complain(f"--statistics has no {arguments.output_format} form")
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        complain("--unsafe-fixes needs --fix or --diff")
