"""Progress of a run in the client: begun, told of, ended, and cancelled by the person."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

_SELDOM = 0.1
"""Seconds between reports: a fast loop would flood the client."""

log = logging.getLogger(__name__)


class Progress:
    """The progress of one run; silent where the client has no way to show it.

    Args:
        server: the server.
        token: the client's own token, or None to ask it for one.
        cancel: called when the person cancels.
    """

    def __init__(self, server: GradSenseServer, token: str | int | None, cancel: Callable[[], None]) -> None:
        self._server = server
        self._token = token
        self._cancel = cancel
        self._begun = False
        self._told = 0.0
        self._waiting: str | None = None

    async def begin(self, title: str, message: str) -> None:
        """Shows it."""
        progress = self._server.work_done_progress
        if self._token is None:
            if not self._server.session.client.progress:
                return
            token = str(uuid.uuid4())
            try:
                await progress.create_async(token)
            except Exception as error:
                log.warning("the client does not show progress: %s", error)
                return
            self._token = token
        progress.begin(self._token, types.WorkDoneProgressBegin(title=title, message=message, cancellable=True))
        self._begun = True
        progress.tokens[self._token].add_done_callback(self._done)

    def report(self, message: str, *, always: bool = False) -> None:
        """Says how far it is: at once, or a little later what is the newest by then."""
        now = time.monotonic()
        if always or now - self._told > _SELDOM:
            self._told = now
            self._waiting = None
            self._say(message)
            return
        if self._waiting is None:
            asyncio.get_running_loop().call_later(_SELDOM, self._say_what_waits)
        self._waiting = message

    def _say_what_waits(self) -> None:
        if self._waiting is not None:
            self.report(self._waiting, always=True)

    def _say(self, message: str) -> None:
        if self._begun and self._token is not None:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=message))

    def end(self, message: str) -> None:
        """Takes it away."""
        if self._begun and self._token is not None:
            self._begun = False
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd(message=message))
            self._server.work_done_progress.tokens.pop(self._token, None)

    def _done(self, future: Future[Any]) -> None:
        if future.cancelled():
            self._cancel()
