"""`textDocument/inlayHint`: short texts behind lines.

Those of a run's story are there for as long as it is shown; what needs grad and what grows is said where the setting
`inlayHints.enabled` is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features.guard import guarded
from gradsense.lsp.messages import FindInlays, Inlays
from gradsense.lsp.run_view import inlays_of
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.server import GradSenseServer
    from gradsense.lsp.session import Session


def register(server: GradSenseServer) -> None:
    """Adds this method to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    @guarded(empty=list)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        uri = params.text_document.uri
        shown = [hint for run in session.runs.values() for hint in inlays_of(run, uri, params.range)]
        document = session.documents.get(uri)
        if document is None or not document.is_python or not session.settings_of(document.program).inlay_hints:
            return shown
        return [*shown, *await _foreseen(session, document, params.range)]


async def _foreseen(session: Session, document: Document, place: types.Range) -> list[types.InlayHint]:
    analysis = await document.program.settle(SETTLE_SECONDS)
    if analysis is None:
        return []
    name = document.path if document.notebook is not None else None
    question = FindInlays(analysis.path, analysis.revision, name, place.start.line, place.end.line)
    found = await session.ask(question, Inlays)
    return [
        types.InlayHint(position=types.Position(one.line, one.character), label=one.label, padding_left=True)
        for one in (() if found is None else found.inlays)
    ]
