"""`notebookDocument/didOpen`, `didChange`, `didSave` and `didClose`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features import publish_diagnostics, run_step
from gradsense.lsp.messages import Done, Forget

if TYPE_CHECKING:
    from gradsense.lsp.notebooks import Notebook
    from gradsense.lsp.server import GradSenseServer

OPTIONS = types.NotebookDocumentSyncOptions(
    # Of any kind and with all cells: text cells count when people number cells, and any may become Python.
    notebook_selector=[types.NotebookDocumentFilterWithNotebook(notebook="*")],
    save=True,
)

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""
    session = server.session

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = session.documents.open_notebook(params.notebook_document, params.cell_text_documents)
        server.scheduler.edited(notebook)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        identifier = params.notebook_document
        notebook = session.documents.notebook(identifier.uri)
        if notebook is None:
            log.warning("a change of a notebook that is not open was ignored: %s", identifier.uri)
            return
        if identifier.version <= notebook.version:
            log.warning("version %d of %s came after %d", identifier.version, identifier.uri, notebook.version)
        notebook.version = identifier.version
        before = notebook.revision
        if params.change.cells is not None:
            _change_cells(server, notebook, params.change.cells)
        if notebook.revision != before:
            run_step.forget(server, notebook.uri)
            server.scheduler.edited(notebook)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        notebook = session.documents.notebook(params.notebook_document.uri)
        if notebook is not None:
            notebook.notes_due = True
            server.scheduler.edited(notebook)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        notebook = session.documents.close_notebook(params.notebook_document.uri)
        if notebook is None:
            log.warning("a notebook that is not open was closed: %s", params.notebook_document.uri)
            return
        run_step.forget(server, notebook.uri)
        publish_diagnostics.withdraw(server, notebook)
        await session.ask(Forget(notebook.path), Done)


def _change_cells(server: GradSenseServer, notebook: Notebook, change: types.NotebookDocumentCellChanges) -> None:
    session = server.session
    if change.structure is not None:
        array = change.structure.array
        notebook.splice(
            array.start,
            array.delete_count,
            array.cells or (),
            opened=change.structure.did_open or (),
            closed=change.structure.did_close or (),
        )
    notebook.update(change.data or ())
    for content in change.text_content or ():
        cell = session.documents.get(content.document.uri)
        if cell is None or cell.notebook is not notebook:
            log.warning("a change of a cell that is not in its notebook was ignored: %s", content.document.uri)
            continue
        cell.change(content.changes, content.document.version, session.client.encoding)
        if notebook.is_code(cell):
            notebook.revision += 1
