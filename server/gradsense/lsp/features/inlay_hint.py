"""`textDocument/inlayHint`: short texts behind the lines of a run's story, for as long as it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features.guard import guarded
from gradsense.lsp.run_view import inlays_of

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer


def register(server: GradSenseServer) -> None:
    """Adds this method to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    @guarded(empty=list)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        uri = params.text_document.uri
        return [hint for run in session.runs.values() for hint in inlays_of(run, uri, params.range)]
