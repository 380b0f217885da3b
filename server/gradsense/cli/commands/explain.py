"""`gradsense explain`: from a traceback to its cause, its line and what mends it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from gradsense.cli.exits import CLEAN, FOUND, TROUBLE

if TYPE_CHECKING:
    from gradsense.cli.main import Subcommands

STDIN = "-"
_EXIT_CODES = """\
exit codes:
  0  explained
  1  no error about gradients in the text
  2  wrong usage, or a file that could not be read
"""


def add(commands: Subcommands) -> None:
    """Declares the arguments."""
    parser = commands.add_parser(
        "explain",
        help="explain a traceback",
        description="Tells from a traceback which fault it is, which line to change and how. Nothing is run: what the "
        "traceback says is put together with what the check finds in its files.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "text",
        nargs="?",
        default=STDIN,
        metavar="FILE",
        help="a file with the traceback (a log, terminal or notebook output), a notebook that failed, or - for "
        "standard input, which is the default",
    )
    parser.add_argument(
        "--program",
        metavar="PATH",
        help="the program or notebook that failed, where the traceback does not name it, or the folder that it is in",
    )
    parser.add_argument(
        "--output-format", choices=("full", "json"), default="full", metavar="FORMAT", help="full, json"
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    """Reads, explains, shows, and gives the exit code."""
    from gradsense.check import Project, check_program
    from gradsense.cli.formats import explained
    from gradsense.cli.report import tell
    from gradsense.cli.result import from_here
    from gradsense.explain.explaining import explain
    from gradsense.explain.places import Places
    from gradsense.garbage import MANY, collect_seldom
    from gradsense.rules.finding import Finding
    from gradsense.syntax import Source, SourceError

    collect_seldom(MANY)
    program: str | None = arguments.program
    if program is not None and not os.path.exists(program):
        arguments.parser.error(f"{program}: no such file or folder")
    try:
        text, notebook = _text(arguments.text)
    except (OSError, SourceError) as error:
        tell(f"error: {arguments.text} cannot be read: {getattr(error, 'strerror', None) or error}")
        return TROUBLE
    if not text.strip():
        tell("error: there is no traceback to explain" + ("" if notebook is None else " in the notebook's outputs"))
        return TROUBLE
    folders = [os.curdir]
    if program is not None and os.path.isdir(program):
        folders, program = [program], None
    elif program is not None:
        folders.insert(0, os.path.dirname(program) or os.curdir)
    places = Places(folders, program or notebook, Source.from_path, lambda path: from_here(path) or path)

    def check(paths: list[str]) -> list[Finding]:
        return check_program(Project.for_paths(paths), paths).findings

    explanation = explain(text, places, lambda paths: check(list(paths)))
    if explanation is None:
        tell(
            "no error about gradients is in the text; it needs the line that names the error, such as `RuntimeError: …`"
        )
        return FOUND
    explained.write(arguments.output_format, explanation, places, sys.stdout)
    return CLEAN


def _text(name: str) -> tuple[str, str | None]:
    """The text to explain, and the notebook that it came from."""
    if name == STDIN:
        if sys.stdin.isatty():
            sys.stderr.write(
                "Paste the traceback, then press Ctrl+D on a line of its own (on Windows Ctrl+Z, Enter).\n"
            )
        return sys.stdin.buffer.read().decode("utf-8", "replace"), None
    with open(name, "rb") as file:
        data = file.read()
    if name.endswith(".ipynb"):
        from gradsense.explain.outputs import last_error

        return last_error(name, data), name
    return data.decode("utf-8", "replace"), None
