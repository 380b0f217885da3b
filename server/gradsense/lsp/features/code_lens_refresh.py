"""`workspace/codeLens/refresh`: asks the client to ask for the lines over loops and cells again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.lsp.features.refreshing import ask_again

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer


def ask(server: GradSenseServer) -> None:
    """Asks it, if it can be asked."""
    if server.session.client.lens_refresh:
        ask_again(server, server.workspace_code_lens_refresh_async, "code lenses")
