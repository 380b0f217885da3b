"""What the requests to the client that end in `/refresh` share."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

log = logging.getLogger(__name__)


def ask_again(server: GradSenseServer, request: Callable[[None], Awaitable[Any]], what: str) -> None:
    """Has the client ask for something again; a client that refuses costs a line in the log."""

    async def ask() -> None:
        try:
            await request(None)
        except Exception as error:
            log.warning("the client did not ask for %s again: %s", what, error)

    server.start(ask(), f"asking for {what}")
