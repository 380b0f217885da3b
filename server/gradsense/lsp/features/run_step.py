"""`workspace/executeCommand` with `gradsense.runStep`: runs a step for real and shows what torch did.

The argument is an object: `uri`, and of these what there is: `line` (from 0, within the cell if there is one), `cell`
(the URI of a notebook's cell), `call` (an expression to run after the definitions), `device`, `fix` (`code` and `title`
of a fix to try on a copy), and `kernel` (`keep` or `restore`: the client, asked by `gradsense/executeInKernel`, runs
the cell in the notebook's kernel, and what that changes is kept, or models are put back). The answer is the report,
which `gradsense/runFinished` tells too. In it, the lines of a notebook are those of its cells, and `path` is the cell's
URI.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from gradsense.lsp import run_fix, run_kernel
from gradsense.lsp.features import diagnostics, inlay_refresh
from gradsense.lsp.features.execute_command import work_done_token
from gradsense.lsp.run_progress import Progress
from gradsense.lsp.run_request import BadRequest, RunRequest, plan, predictions_of, read_request, source_of
from gradsense.lsp.run_view import Locator, ShownRun, by_cells, diagnostics_of, report_of, shown
from gradsense.lsp.session import SETTLE_SECONDS
from gradsense.run import words
from gradsense.run.advice import advice
from gradsense.run.interpreters import NoInterpreter
from gradsense.run.process import Cancelled, Event, WontStart
from gradsense.run.program import NothingToRun
from gradsense.run.report import FAULTS, Fault, Report
from gradsense.run.trying import compared

if TYPE_CHECKING:
    from gradsense.lsp.program import Program
    from gradsense.lsp.runner import Running
    from gradsense.lsp.server import GradSenseServer
    from gradsense.run.step import Step
    from gradsense.syntax import Source

COMMAND = "gradsense.runStep"
FINISHED = "gradsense/runFinished"
UNTRUSTED = "this workspace is not trusted, so nothing in it is run; trust it in the editor, or set gradsense.trusted"
_FAILED = types.LSPErrorCodes.RequestFailed

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds this command to the server."""

    @server.command(COMMAND)
    async def run_step(argument: Any) -> dict[str, Any]:
        session = server.session
        try:
            request = read_request(session, argument, work_done_token.get())
        except BadRequest as error:
            raise JsonRpcException(str(error), types.ErrorCodes.InvalidParams) from None
        if not session.settings_of(request.program).trusted:
            raise JsonRpcException(UNTRUSTED, _FAILED)
        return await _Run(server, request).answer()


def forget(server: GradSenseServer, uri: str) -> None:
    """Takes away what is shown of runs that a document has a part in, such as when it is edited."""
    session = server.session
    touched = [run for run in session.runs.values() if uri == run.program or any(line.uri == uri for line in run.lines)]
    for run in touched:
        del session.runs[run.program]
        for other in {line.uri for line in run.lines}:
            diagnostics.attach(server, other, ())
    if touched:
        inlay_refresh.ask(server)


def show(server: GradSenseServer, run: ShownRun) -> None:
    """Shows a run in place of what was shown of that program."""
    session = server.session
    forget(server, run.program)
    session.runs[run.program] = run
    found = diagnostics_of(run, related=session.client.related)
    for uri, items in found.items():
        diagnostics.attach(server, uri, items)
    inlay_refresh.ask(server)


class _Run:
    """One run, from the request to its answer."""

    def __init__(self, server: GradSenseServer, request: RunRequest) -> None:
        self._server = server
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._passes = 0
        self._path = ""
        self._locator: Locator | None = None

    @property
    def _program(self) -> Program:
        return self._request.program

    async def answer(self) -> dict[str, Any]:
        """Runs and shows it.

        Raises:
            CancelledError: the person cancelled it, or another run took its place.
        """
        runner = self._server.runner
        running = await runner.begin(self._program.uri)
        self._progress = Progress(self._server, self._request.token, lambda: self._cancel(running))
        name = os.path.basename(self._program.path)
        await self._progress.begin(f"Running a step of {name}", "importing torch")
        ending = "cancelled"
        try:
            report = await self._report(running)
            ending = report.outcome
            answer = report_of(report, self._locator, self._path)
            self._server.protocol.notify(FINISHED, {"uri": self._program.uri, "report": answer})
        except Cancelled:
            # The protocol layer answers that the request was cancelled.
            raise asyncio.CancelledError from None
        finally:
            runner.end(running)
            self._progress.end(ending)
        return answer

    async def _report(self, running: Running) -> Report:
        program = self._program
        await program.settle(SETTLE_SECONDS)
        revision = program.revision
        source = source_of(program)
        step: Step | None = None
        try:
            if self._request.kernel is not None:
                return await self._in_kernel(source, revision)
            step = await plan(self._server.session, self._request, source)
            self._path = step.spec.path
            self._locator = Locator(self._server.session, program, self._path)
            step = step.with_predictions(predictions_of(program, self._path))
            if self._request.fix is not None:
                return await self._try_fix(running, step, source, revision)
            report = await self._server.runner.run(running, step, self._hear)
            report = by_cells(report, self._locator, self._path)
        except (NothingToRun, NoInterpreter, WontStart) as error:
            report = Report("failed", Fault(type(error).__name__, str(error)))
        if program.revision == revision and step is not None and self._locator is not None:
            show(self._server, shown(self._locator, program.uri, report, step.target))
        self._tell(report, step)
        return report

    async def _try_fix(self, running: Running, step: Step, source: Source, revision: int) -> Report:
        session = self._server.session
        before = session.runs.get(self._program.uri)
        fixed = await run_fix.fixed_step(session, self._request, step)
        if before is None or before.target != step.target:
            self._progress.report("as it is", always=True)
            old = await self._server.runner.run(running, step, self._hear)
        else:
            old = before.report
        self._progress.report("with the fix", always=True)
        report = await self._server.runner.run(running, fixed.step, self._hear)
        report = compared(report, old, fixed.code, fixed.fix.title)
        # Its lines are those of the copy.
        self._locator = None
        self._server.start(run_fix.offer(self._server, self._program, fixed, report, revision), "the offer of a fix")
        return report

    async def _in_kernel(self, source: Source, revision: int) -> Report:
        program = self._program
        spec = await run_kernel.plan(self._server.session, self._request, source)
        self._path = spec["path"]
        self._locator = Locator(self._server.session, program, self._path)
        self._progress.report("waiting for the kernel", always=True)
        report = await run_kernel.run(self._server, program.uri, spec)
        report = by_cells(report, self._locator, self._path)
        if program.revision == revision:
            show(self._server, shown(self._locator, program.uri, report, ("kernel", spec["cell"])))
        self._tell(report, None)
        return report

    def _cancel(self, running: Running) -> None:
        # Ending a process takes a moment, which the loop has not.
        self._loop.run_in_executor(None, running.cancel)

    def _hear(self, event: Event) -> None:
        """Takes an event of the worker, in a thread of its own."""
        if event["event"] in ("started", "pass"):
            self._loop.call_soon_threadsafe(self._tell_progress, event["event"])

    def _tell_progress(self, event: str) -> None:
        if event == "started":
            self._passes = 0
            self._progress.report("running", always=True)
        else:
            self._passes += 1
            self._progress.report(f"pass {self._passes}")

    def _tell(self, report: Report, step: Step | None) -> None:
        if self._request.token is not None:
            # A client that follows the run under a token of its own shows itself what came of it.
            return
        name = os.path.basename(self._program.path)
        text = f"{name}: {words.headline(report)}"
        advised = advice(report, step) if step is not None else None
        if advised:
            text = f"{text} ({advised})"
        self._server.tell_person(_kind(report), text)


def _kind(report: Report) -> types.MessageType:
    if report.is_clean:
        return types.MessageType.Info
    return types.MessageType.Warning if report.outcome in FAULTS | {"clean"} else types.MessageType.Error
