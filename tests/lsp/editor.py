"""An editor for tests: a real server process at the other end of a pipe, and buffers that are edited as editors do.

Its idea of text and positions is its own (see `lsp.model`), so that a mistake of the server shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, make_test_lsp_client

from lsp.clients import EMACS, NEOVIM, VS_CODE, VS_CODE_NOW, capabilities_of
from lsp.model import offset, replaced

__all__ = ["EMACS", "FAKE", "NEOVIM", "REAL", "VS_CODE", "VS_CODE_NOW", "Editor", "editing", "span"]

REAL = (sys.executable, "-c", "import sys; from gradsense.lsp.main import serve; sys.exit(serve())")
FAKE = (sys.executable, str(Path(__file__).with_name("fake_server.py")))


Cell = str | tuple[str, str]
"""The text of a Python cell, or the language and the text of another."""


class Editor:
    """One client with open buffers."""

    def __init__(self, client: LanguageClient, result: types.InitializeResult) -> None:
        self.client = client
        self.capabilities = result.capabilities
        self.encoding = types.PositionEncodingKind(result.capabilities.position_encoding or "utf-16").value
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.notebooks: dict[str, list[types.NotebookCell]] = {}
        self._cell_count = 0
        self.pulls = result.capabilities.diagnostic_provider is not None
        self.refreshes = 0
        self.progress: dict[str | int, list[Any]] = {}
        """What came under each token, as plain data."""
        self.published: list[types.PublishDiagnosticsParams] = []
        self.latest: dict[str, list[types.Diagnostic]] = {}
        self.registered: list[str] = []
        self._news = asyncio.Event()
        # lsprotocol takes every action that has a command for a bare command.
        converter = client.protocol._converter
        converter.register_structure_hook(types.Command | types.CodeAction, partial(_action, converter))
        for method in (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, types.WORKSPACE_DIAGNOSTIC_REFRESH, types.PROGRESS):
            client.protocol.fm.features.pop(method)

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def take(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self.latest[params.uri] = list(params.diagnostics)
            self._news.set()

        @client.feature(types.PROGRESS)
        def progress(params: types.ProgressParams) -> None:
            self.progress.setdefault(params.token, []).append(default_converter().unstructure(params.value))

        @client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def ask_again(params: None) -> None:
            self.refreshes += 1
            self._news.set()

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered.extend(registration.method for registration in params.registrations)

    @property
    def pid(self) -> int:
        """The server's process number."""
        server: Any = self.client._server
        return int(server.pid)

    def open(self, uri: str, text: str, language: str = "python") -> None:
        """Opens a buffer."""
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    def close(self, uri: str) -> None:
        """Closes a buffer."""
        del self.texts[uri]
        identifier = types.TextDocumentIdentifier(uri=uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=identifier))

    def edit(self, uri: str, *changes: tuple[types.Range, str]) -> None:
        """Makes some changes, one after another, and tells the server of them as changes."""
        events = []
        for place, new_text in changes:
            self.texts[uri] = replaced(self.texts[uri], place, new_text, self.encoding)
            events.append(types.TextDocumentContentChangePartial(range=place, text=new_text))
        self._tell(uri, events)

    def rewrite(self, uri: str, text: str) -> None:
        """Replaces a whole buffer."""
        self.texts[uri] = text
        self._tell(uri, [types.TextDocumentContentChangeWholeDocument(text=text)])

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Applies a workspace edit to the buffers and tells the server, as an editor does."""
        for uri, edits in _by_document(edit, self.versions):
            # The edits are all against the text before any of them: the last one first keeps the others' places right.
            ordered = sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True)
            self.edit(uri, *((one.range, one.new_text) for one in ordered))

    async def diagnostics(self, uri: str, seconds: float = 20) -> list[types.Diagnostic]:
        """Waits for diagnostics of a buffer to be published, and then until the server has looked at all of it.

        A client that asks for them does so.
        """
        if self.pulls:
            await self.looked_at(uri)
            report = await asyncio.wait_for(self.pull(uri), seconds)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            return list(report.items)
        await self.publication(uri, seconds)
        return await self.looked_at(uri)

    async def pull(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        """Asks for the diagnostics of a buffer."""
        params = types.DocumentDiagnosticParams(
            text_document=types.TextDocumentIdentifier(uri=uri), previous_result_id=previous
        )
        return await self.client.text_document_diagnostic_async(params)

    async def refreshed(self, seconds: float = 20) -> None:
        """Waits until the server wants the client to ask for diagnostics again."""

        async def wait() -> None:
            while not self.refreshes:
                self._news.clear()
                await self._news.wait()
            self.refreshes -= 1

        await asyncio.wait_for(wait(), seconds)

    async def found(self, uri: str, code: str, seconds: float = 20) -> list[types.Diagnostic]:
        """Waits until the diagnostics of a buffer hold one of a code that may only be found in a pause; returns all."""

        async def wait() -> list[types.Diagnostic]:
            while True:
                known = await self.diagnostics(uri) if self.pulls else self.latest.get(uri, [])
                if any(one.code == code for one in known):
                    return known
                await asyncio.sleep(0.05)

        return await asyncio.wait_for(wait(), seconds)

    async def looked_at(self, uri: str) -> list[types.Diagnostic]:
        """Waits until the server has looked at a buffer as it is now; the diagnostics that it shows then."""
        # Actions are offered for what is there, so the answer waits for that.
        await self.actions(uri, types.Range(types.Position(0, 0), types.Position(0, 0)))
        self.published = [params for params in self.published if params.uri != uri]
        return self.latest.get(uri, [])

    async def publication(self, uri: str, seconds: float = 20) -> types.PublishDiagnosticsParams:
        """Waits for the next message with diagnostics of a buffer."""
        return await asyncio.wait_for(self._next_publication(uri), seconds)

    async def actions(
        self,
        uri: str,
        place: types.Range,
        diagnostics: Sequence[types.Diagnostic] = (),
        only: Sequence[str] | None = None,
    ) -> list[types.CodeAction]:
        """Asks for code actions."""
        context = types.CodeActionContext(diagnostics=list(diagnostics), only=None if only is None else list(only))
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=uri), range=place, context=context
        )
        found = await self.client.text_document_code_action_async(params)
        actions = []
        for action in found or []:
            assert isinstance(action, types.CodeAction)
            actions.append(action)
        return actions

    async def edit_of(self, action: types.CodeAction) -> types.WorkspaceEdit:
        """The edit of an action, asked for where it did not come along."""
        if action.edit is None:
            action = await self.client.code_action_resolve_async(action)
        assert action.edit is not None
        return action.edit

    async def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        """Asks what a hover shows."""
        params = types.HoverParams(
            text_document=types.TextDocumentIdentifier(uri=uri), position=types.Position(line, character)
        )
        return await self.client.text_document_hover_async(params)

    def open_notebook(self, uri: str, *cells: Cell, kind: str = "jupyter-notebook") -> list[str]:
        """Opens a notebook and returns the URIs of its cells."""
        self.notebooks[uri], self.versions[uri] = [], 1
        documents = [self._new_cell(uri, cell) for cell in cells]
        self.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                notebook_document=types.NotebookDocument(uri, kind, 1, list(self.notebooks[uri])),
                cell_text_documents=documents,
            )
        )
        return [document.uri for document in documents]

    def insert_cells(self, uri: str, at: int, *cells: Cell) -> list[str]:
        """Puts new cells into a notebook and returns their URIs."""
        count = len(self.notebooks[uri])
        documents = [self._new_cell(uri, cell) for cell in cells]
        new = self.notebooks[uri][count:]
        self.notebooks[uri][count:] = []
        self.notebooks[uri][at:at] = new
        self._restructure(uri, at, 0, new, documents, ())
        return [document.uri for document in documents]

    def remove_cells(self, uri: str, at: int, count: int = 1) -> None:
        """Removes cells from a notebook."""
        gone = self.notebooks[uri][at : at + count]
        self.notebooks[uri][at : at + count] = []
        for cell in gone:
            del self.texts[cell.document], self.versions[cell.document]
        self._restructure(uri, at, count, (), (), [cell.document for cell in gone])

    def move_cell(self, uri: str, at: int, to: int) -> None:
        """Moves a cell to another place; its text document stays."""
        before = list(self.notebooks[uri])
        self.notebooks[uri].insert(to, self.notebooks[uri].pop(at))
        first, last = min(at, to), max(at, to)
        self._restructure(uri, first, last - first + 1, self.notebooks[uri][first : last + 1], (), ())
        assert sorted(cell.document for cell in before) == sorted(cell.document for cell in self.notebooks[uri])

    def change_language(self, uri: str, at: int, language: str) -> None:
        """Makes a cell one of another language, as VS Code does: the same cell goes and comes."""
        cell = self.notebooks[uri][at]
        cell.kind = types.NotebookCellKind.Markup if language == "markdown" else types.NotebookCellKind.Code
        document = types.TextDocumentItem(cell.document, language, 1, self.texts[cell.document])
        self.versions[cell.document] = 1
        self._restructure(uri, at, 1, [cell], [document], [cell.document])

    def run_cell(self, uri: str, at: int) -> None:
        """Tells that a cell was run."""
        cell = self.notebooks[uri][at]
        cell.execution_summary = types.ExecutionSummary(execution_order=1, success=True)
        self._tell_notebook(uri, types.NotebookDocumentCellChanges(data=[cell]))

    def close_notebook(self, uri: str) -> None:
        """Closes a notebook."""
        cells = self.notebooks.pop(uri)
        for cell in cells:
            del self.texts[cell.document], self.versions[cell.document]
        self.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                notebook_document=types.NotebookDocumentIdentifier(uri=uri),
                cell_text_documents=[types.TextDocumentIdentifier(uri=cell.document) for cell in cells],
            )
        )

    async def barrier(self) -> None:
        """Returns when the server has taken in all that was sent before."""
        await self.hover("file:///not-open.py", 0, 0)

    async def logged(self, words: str, seconds: float = 20) -> str:
        """Waits for a log message that contains some words."""
        return await asyncio.wait_for(self._next_log(words), seconds)

    def covered(self, uri: str, place: types.Range) -> str:
        """The text that a range covers, in the encoding that was agreed on."""
        text = self.texts[uri]
        return text[offset(text, place.start, self.encoding) : offset(text, place.end, self.encoding)]

    async def quit(self) -> int:
        """Ends the session as the protocol has it; returns the server's exit status."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        return await self.wait()

    async def wait(self, seconds: float = 10) -> int:
        """Waits for the server to end; returns its exit status."""
        server: Any = self.client._server
        status = await asyncio.wait_for(server.wait(), seconds)
        return int(status)

    async def _next_publication(self, uri: str) -> types.PublishDiagnosticsParams:
        while True:
            for number, params in enumerate(self.published):
                if params.uri == uri:
                    del self.published[number]
                    return params
            self._news.clear()
            await self._news.wait()

    async def _next_log(self, words: str) -> str:
        while True:
            for message in self.client.log_messages:
                if words in message.message:
                    return message.message
            await asyncio.sleep(0.02)

    def _new_cell(self, uri: str, cell: Cell) -> types.TextDocumentItem:
        language, text = cell if isinstance(cell, tuple) else ("python", cell)
        kind = types.NotebookCellKind.Markup if language == "markdown" else types.NotebookCellKind.Code
        name = f"vscode-notebook-cell:{uri.removeprefix('file:')}#W{self._cell_count}"
        self._cell_count += 1
        self.texts[name], self.versions[name] = text, 1
        self.notebooks[uri].append(types.NotebookCell(kind=kind, document=name))
        return types.TextDocumentItem(uri=name, language_id=language, version=1, text=text)

    def _restructure(
        self,
        uri: str,
        start: int,
        deleted: int,
        cells: Sequence[types.NotebookCell],
        opened: Sequence[types.TextDocumentItem],
        closed: Sequence[str],
    ) -> None:
        array = types.NotebookCellArrayChange(start=start, delete_count=deleted, cells=list(cells))
        structure = types.NotebookDocumentCellChangeStructure(
            array=array, did_open=list(opened), did_close=[types.TextDocumentIdentifier(uri=name) for name in closed]
        )
        self._tell_notebook(uri, types.NotebookDocumentCellChanges(structure=structure))

    def _tell_notebook(self, uri: str, cells: types.NotebookDocumentCellChanges) -> None:
        self.versions[uri] += 1
        self.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                notebook_document=types.VersionedNotebookDocumentIdentifier(version=self.versions[uri], uri=uri),
                change=types.NotebookDocumentChangeEvent(cells=cells),
            )
        )

    def _tell(self, uri: str, events: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        home = next((one for one, cells in self.notebooks.items() if uri in [c.document for c in cells]), None)
        if home is not None:
            content = types.NotebookDocumentCellContentChanges(document=identifier, changes=list(events))
            self._tell_notebook(home, types.NotebookDocumentCellChanges(text_content=[content]))
            return
        params = types.DidChangeTextDocumentParams(text_document=identifier, content_changes=list(events))
        self.client.text_document_did_change(params)


def _action(converter: Converter, value: Any, _: Any) -> types.Command | types.CodeAction:
    kind = types.Command if isinstance(value.get("command"), str) else types.CodeAction
    action: types.Command | types.CodeAction = converter.structure(value, kind)
    return action


@asynccontextmanager
async def editing(
    kind: str = VS_CODE,
    command: Sequence[str] = FAKE,
    encodings: Sequence[str] | None = None,
    options: Any = None,
    folder: Path | None = None,
    capabilities: types.ClientCapabilities | None = None,
    name: str = "test",
) -> AsyncIterator[Editor]:
    """Starts a server and an editor of some kind, and ends both.

    Args:
        kind: the editor whose capabilities are told.
        command: how the server is started.
        encodings: the position encodings on offer, in order; None for those of the editor.
        options: the initialization options.
        folder: the workspace folder.
        capabilities: told instead of those of `kind`.
        name: what the client calls itself.
    """
    client = make_test_lsp_client()
    told = capabilities or capabilities_of(kind)
    if encodings is not None:
        told.general = told.general or types.GeneralClientCapabilities()
        told.general.position_encodings = list(encodings)
    await client.start_io(*command, cwd=folder, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)] if folder is not None else None
    params = types.InitializeParams(
        capabilities=told,
        client_info=types.ClientInfo(name),
        initialization_options=options,
        workspace_folders=folders,
    )
    # A server that is gone answers nothing: that is a failure, and no reason to wait for ever.
    editor = Editor(client, await asyncio.wait_for(client.initialize_session(params), 90))
    try:
        yield editor
    finally:
        server: Any = client._server
        if server.returncode is None:
            # A server that was killed may not be known to be gone yet.
            with contextlib.suppress(RuntimeError):
                await asyncio.wait_for(client.shutdown_session(), 60)
        await asyncio.wait_for(client.stop(), 60)


def span(line: int, start: int, end_line: int, end: int) -> types.Range:
    """A range, in short."""
    return types.Range(start=types.Position(line, start), end=types.Position(end_line, end))


def _by_document(edit: types.WorkspaceEdit, versions: dict[str, int]) -> list[tuple[str, list[types.TextEdit]]]:
    if edit.changes:
        return [(uri, list(edits)) for uri, edits in edit.changes.items()]
    found = []
    for change in edit.document_changes or ():
        assert isinstance(change, types.TextDocumentEdit)
        identifier = change.text_document
        assert identifier.version in (None, versions.get(identifier.uri)), "an edit for another version"
        edits = list(itertools.chain(change.edits))
        assert all(isinstance(one, types.TextEdit) for one in edits)
        found.append((identifier.uri, [one for one in edits if isinstance(one, types.TextEdit)]))
    return found
