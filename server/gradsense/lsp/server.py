"""The language server: pygls's, with our session, protocol layer and features."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from gradsense import __version__
from gradsense.lsp.backend import Backend
from gradsense.lsp.features import (
    clear_run,
    code_action,
    code_lens,
    configuration,
    diagnostics,
    document_link,
    execute_command,
    explain,
    hover,
    inlay_hint,
    lifecycle,
    notebook_sync,
    run_step,
    text_sync,
    watched_files,
)
from gradsense.lsp.messages import Stage
from gradsense.lsp.program import Program
from gradsense.lsp.protocol import GradSenseProtocol
from gradsense.lsp.runner import Runner
from gradsense.lsp.scheduler import Scheduler
from gradsense.lsp.session import Session

if TYPE_CHECKING:
    from pygls.server import ServerErrors

_FEATURES = (
    lifecycle,
    configuration,
    text_sync,
    notebook_sync,
    watched_files,
    code_action,
    hover,
    inlay_hint,
    execute_command,
    explain,
    run_step,
    clear_run,
    code_lens,
    document_link,
)

log = logging.getLogger(__name__)


class GradSenseServer(LanguageServer):
    """Serves one client.

    Args:
        backend: the analysis; whoever made it closes it.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__(
            "gradsense", __version__, notebook_document_sync=notebook_sync.OPTIONS, protocol_cls=GradSenseProtocol
        )
        self.session = Session(backend)
        self.runner = Runner()
        self.scheduler = Scheduler(self.session.documents, self._analyse)
        self.session.when_lost = self.scheduler.forgotten
        self.session.when_learnt = lambda root: self.scheduler.forgotten()
        self._tasks: set[asyncio.Task[None]] = set()
        for feature in _FEATURES:
            feature.register(self)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Lets some work run beside the protocol for as long as the server does; if it fails, the log says so."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def tell_person(self, kind: types.MessageType, text: str) -> None:
        """Shows the person a message."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"GradSense: {text}"))

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Logs an error; the person is not disturbed over it."""
        log.error("%s: %s", source.__name__, error)

    async def _analyse(self, program: Program, stage: Stage) -> Stage | None:
        return await diagnostics.refresh(self, program, stage)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s ended", task.get_name(), exc_info=task.exception())
