"""`notebookDocument/*`: taken note of, so that a client that sends them gets no errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server. None is announced: clients that follow the protocol do not use them."""

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        log.info("notebooks are not analysed in the editor: %s", params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        log.debug("a change of %s was ignored", params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        log.debug("closing %s was ignored", params.notebook_document.uri)
