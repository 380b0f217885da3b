"""What the person wants run: a file, a line or cell of it, a module, or standard input."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass

from gradsense.cli.commands.run import STDIN
from gradsense.files import NOTEBOOK, File
from gradsense.run.interpreters import NoInterpreter, choose
from gradsense.run.modules import find_module, search_path

_PLACE = re.compile(r"(?P<path>.+):(?:cell )?(?P<number>[0-9]+)(?::[0-9]+)*")


@dataclass(frozen=True)
class Target:
    """What the person named.

    Args:
        file: the script or notebook.
        line: the program's line that was named, or that the cell begins with.
        module: the name that it runs under, if it was named as a module.
        root: the folder that this name starts from.
    """

    file: File
    line: int | None = None
    module: str | None = None
    root: str | None = None

    @property
    def path(self) -> str:
        """The file's name."""
        return self.file.source.path


class Unusable(Exception):
    """What was asked for cannot be run; the message says why, and what to do."""


def target_of(arguments: argparse.Namespace, folder: str, python: str | None) -> Target:
    """Reads what was named.

    Args:
        folder: where a module is looked for first.
        python: the interpreter that was asked for, whose path a module is looked for on then.

    Raises:
        Unusable: the place is none.
        SourceError: the file cannot be read.
    """
    if arguments.module is not None:
        return _module(arguments, folder, python)
    named: str = arguments.target
    if named == STDIN:
        path = os.path.abspath(arguments.path) if arguments.path else os.path.join(os.getcwd(), "stdin.py")
        return Target(File.of(path, sys.stdin.buffer.read()))
    if arguments.path:
        raise Unusable("--path is for standard input (-)")
    number = None
    if not os.path.exists(named) and (found := _PLACE.fullmatch(named)):
        named, number = found["path"], int(found["number"])
    if os.path.isdir(named):
        raise Unusable(f"{named} is a folder; name the script or notebook that is to run")
    file = File.read(os.path.abspath(named))
    if number is not None and named.endswith(NOTEBOOK):
        line = file.source.line_in_program(number - 1, 1)
        if line is None:
            codes = ", ".join(str(cell.index + 1) for cell in file.source.cells)
            raise Unusable(f"{named} has no cell {number} with Python in it; those that have: {codes or 'none'}")
        return Target(file, line)
    return Target(file, number)


def _module(arguments: argparse.Namespace, folder: str, python: str | None) -> Target:
    name: str = arguments.module
    if arguments.path:
        raise Unusable("--path is for standard input (-)")
    found = find_module(name, [folder])
    if found is None:
        try:
            interpreter = choose(python, os.path.join(folder, "module"))
        except NoInterpreter as error:
            raise Unusable(f"there is no module {name} in {folder}, and {error}") from None
        found = find_module(name, search_path(interpreter.path))
        if found is None:
            raise Unusable(
                f"there is no module {name} with source in {folder}, nor where {interpreter.path} looks for modules; "
                "name its file, or the folder with --cwd"
            )
    return Target(File.read(found.path), None, found.name, found.root)
