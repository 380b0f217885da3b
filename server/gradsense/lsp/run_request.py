"""From what a client asks for to a step that can be run: the program as typed, the place, the settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from gradsense.config import load_settings
from gradsense.lsp.program import Program, scheme_of
from gradsense.project import project_root
from gradsense.run.program import program as runnable
from gradsense.run.settings import RunSettings, device
from gradsense.run.spec import Predicted
from gradsense.run.step import Step, plan_step
from gradsense.syntax import Source
from gradsense.syntax.edits import split_lines

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.session import Session

_PREDICTING = ("error", "warning")
KERNEL = ("keep", "restore")


class BadRequest(Exception):
    """The request names nothing that can be run; the message says why."""


@dataclass(frozen=True)
class RunRequest:
    """What a client asked for.

    Args:
        program: the open program.
        line: the line of the program that the person is at, from 1; None for all of it.
        call: an expression to run after the definitions.
        device: where it runs, if the person said so.
        fix: code and title of the fix to try.
        kernel: whether the client is to run it in the notebook's kernel: `keep` what it changes, or `restore` models.
        token: the client's token for progress.
    """

    program: Program
    line: int | None = None
    call: str | None = None
    device: str | None = None
    fix: tuple[str, str] | None = None
    kernel: str | None = None
    token: str | int | None = None


def read_request(session: Session, argument: Any, token: str | int | None) -> RunRequest:
    """Reads the argument of the command.

    Raises:
        BadRequest: it does not fit, or the program is not open.
    """
    if not isinstance(argument, Mapping) or not isinstance(argument.get("uri"), str):
        raise BadRequest("the argument must be an object with the `uri` of an open file or notebook")
    uri = argument["uri"]
    named = argument.get("cell") or uri
    document = session.documents.get(named)
    program = session.documents.program(uri) or (None if document is None else document.program)
    if program is None or not program.is_python:
        raise BadRequest(f"{uri} is not open, or is no Python")
    line = argument.get("line")
    cell = document if document is not None and document.notebook is not None else None
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 0):
        raise BadRequest("`line` must be a number from 0")
    try:
        wanted = None if argument.get("device") is None else device(argument["device"])
    except ValueError as error:
        raise BadRequest(f"`device` {error}") from None
    kernel = _text(argument, "kernel")
    if kernel is not None and (kernel not in KERNEL or cell is None):
        raise BadRequest("`kernel` must be `keep` or `restore`, and goes with the `cell` of a notebook")
    return RunRequest(
        program=program,
        line=_line_in_program(program, cell, line),
        call=_text(argument, "call"),
        device=wanted,
        fix=_fix(argument.get("fix")),
        kernel=kernel,
        token=token,
    )


def source_of(program: Program) -> Source:
    """The program as it is typed."""
    if program.cells is None:
        return Source.from_text(program.path, program.text)
    return Source.from_cells(program.path, [(cell.index, cell.text) for cell in program.cells])


async def plan(session: Session, request: RunRequest, source: Source) -> Step:
    """Plans the run of a program's text.

    Raises:
        NothingToRun: there is nothing in it.
        NoInterpreter: no Python can run it.
    """
    program = request.program
    home, folder = folders_of(session, program)
    overlays = {
        other.path: other.text
        for other in session.documents
        if other is not program and other.cells is None and scheme_of(other.uri) == "file"
    }
    chosen = runnable(source, request.line, request.call)
    if scheme_of(program.uri) != "file":
        chosen = replace(chosen, path=path_of(program, home))

    def planned() -> Step:
        return plan_step(
            chosen,
            run_settings(session, request, home),
            folder=folder,
            roots=[project_root(home)],
            reason="the setting gradsense.interpreter",
            overlays=overlays,
        )

    return await asyncio.to_thread(planned)


def folders_of(session: Session, program: Program) -> tuple[str, str]:
    """The folder that a program lies in, and the one that it works in."""
    root = session.root_of(program)
    home = os.path.dirname(program.path) if scheme_of(program.uri) == "file" else root or os.getcwd()
    # A notebook's kernel works in the notebook's folder, a script where the workspace is.
    return home, home if program.cells is not None else root or home


def path_of(program: Program, home: str) -> str:
    """What a program is called when it runs: tracebacks and imports want a path, though there may be nothing there."""
    if scheme_of(program.uri) == "file":
        return program.path
    return os.path.join(home, f"{os.path.basename(program.path.rpartition(':')[2])}.py")


def run_settings(session: Session, request: RunRequest, home: str) -> RunSettings:
    """How a program is run: by its project's settings, the editor's, and what the request says. Reads files."""
    table = {**load_settings(home).settings.run, **session.settings_of(request.program).run}
    if request.device is not None:
        table["device"] = request.device
    known = {item.name for item in fields(RunSettings)}
    return RunSettings(**{name: value for name, value in table.items() if name in known})


def predictions_of(program: Program, path: str) -> list[Predicted]:
    """What the analysis of the text as it is has found.

    Args:
        path: what the program is called in the run.
    """
    analysis = program.current_analysis
    if analysis is None:
        return []
    starts = _first_lines(program)
    found = []
    for finding in analysis.findings:
        first = starts.get(finding.path)
        if first is not None and finding.severity in _PREDICTING:
            others = [line for line in finding.related if line.path in starts]
            related = tuple(starts[line.path] + line.place.line for line in others)
            line = first + finding.place.line
            found.append(Predicted(finding.code, line, path, related, finding.rerun, finding.behind))
    return found


def _first_lines(program: Program) -> dict[str, int]:
    """The program's line that each of its documents begins with, by the path of the document."""
    starts: dict[str, int] = {}
    first = 1
    for part in program.parts:
        starts[part.path] = first
        first += len(split_lines(part.text))
    return starts


def _line_in_program(program: Program, cell: Document | None, line: int | None) -> int | None:
    if cell is None:
        return None if line is None else line + 1
    first = 1
    for part in program.parts:
        if part is cell:
            return first + (line or 0)
        first += len(split_lines(part.text))
    raise BadRequest("the cell is not one of Python")


def _text(argument: Mapping[str, Any], key: str) -> str | None:
    value = argument.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"`{key}` must be text")
    return value or None


def _fix(value: Any) -> tuple[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(value.get(key), str) for key in ("code", "title")):
        raise BadRequest("`fix` must be an object with the `code` of a finding and the `title` of one of its fixes")
    return value["code"], value["title"]
