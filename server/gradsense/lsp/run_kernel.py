"""A cell that runs in its notebook's kernel, which only the client can reach."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gradsense.lsp.run_request import RunRequest, folders_of, path_of, predictions_of, run_settings
from gradsense.project import project_root
from gradsense.run.kernel import PASS, REPORT, code_for, report_from
from gradsense.run.program import program as runnable
from gradsense.run.report import Report
from gradsense.syntax import Source
from gradsense.syntax.edits import split_lines

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer
    from gradsense.lsp.session import Session

REQUEST = "gradsense/executeInKernel"


async def plan(session: Session, request: RunRequest, source: Source) -> dict[str, Any]:
    """What the kernel is told to run, see `run.inside.kernel.run_cell`.

    Raises:
        NothingToRun: there is nothing in the notebook.
    """
    program = request.program
    home, _ = folders_of(session, program)
    chosen = runnable(source, request.line)
    path = path_of(program, home)
    settings = await asyncio.to_thread(run_settings, session, request, home)
    index = next(number for number, cell in enumerate(source.cells) if cell.last_line == chosen.until_line)
    return {
        "path": path,
        "text": "\n".join(split_lines(chosen.text)),
        "cells": [[cell.first_line, cell.last_line, cell.text] for cell in source.cells],
        "cell": index,
        "passes": settings.passes,
        "batches": settings.batches,
        "roots": [home, project_root(home)],
        "time_limit": settings.time_limit,
        "restore": request.kernel == "restore",
        "predictions": [asdict(found) for found in predictions_of(program, path)],
    }


async def run(server: GradSenseServer, uri: str, spec: dict[str, Any]) -> Report:
    """Has the client run it.

    The request holds `uri`, the `code` to execute, and the kinds of output that tell how far it is (`passKind`) and
    what came of it (`reportKind`); the client answers with the JSON text of the latter, or with null.
    """
    params = {"uri": uri, "code": code_for(spec), "passKind": PASS, "reportKind": REPORT}
    answer = await server.protocol.send_request_async(REQUEST, params)
    return report_from(answer)
