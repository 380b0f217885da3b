"""`workspace/codeLens/refresh`: asks the client to ask for the lines over loops and cells again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

log = logging.getLogger(__name__)


def ask(server: GradSenseServer) -> None:
    """Asks it, if it can be asked."""
    if server.session.client.lens_refresh:
        server.start(_ask(server), "asking for code lenses")


async def _ask(server: GradSenseServer) -> None:
    try:
        await server.workspace_code_lens_refresh_async(None)
    except Exception as error:
        log.warning("the client did not ask for code lenses again: %s", error)
