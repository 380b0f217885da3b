"""`textDocument/didOpen`, `didChange`, `didSave` and `didClose`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features import publish_diagnostics, run_step
from gradsense.lsp.messages import Done, Forget

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = session.documents.open(params.text_document)
        server.scheduler.edited(document.program)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        identifier = params.text_document
        document = session.documents.get(identifier.uri)
        if document is None:
            log.warning("a change of a document that is not open was ignored: %s", identifier.uri)
            return
        if identifier.version <= document.version:
            log.warning("version %d of %s came after %d", identifier.version, identifier.uri, document.version)
        document.change(params.content_changes, identifier.version, session.client.encoding)
        run_step.forget(server, document.uri)
        server.scheduler.edited(document.program)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        document = session.documents.get(params.text_document.uri)
        if document is not None:
            document.program.notes_due = True
            session.workspace.changed()
            server.scheduler.edited(document.program)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        document = session.documents.close(params.text_document.uri)
        if document is None:
            log.warning("a document that is not open was closed: %s", params.text_document.uri)
            return
        run_step.forget(server, document.uri)
        publish_diagnostics.withdraw(server, document)
        await session.ask(Forget(document.path), Done)
        session.workspace.published.pop(document.uri, None)
        session.workspace.changed()
