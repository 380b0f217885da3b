"""An editor for tests: a real server process at the other end of a pipe, and buffers that are edited as editors do.

Its idea of text and positions is its own (see `lsp.model`), so that a mistake of the server shows.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from lsp.model import offset, replaced

VS_CODE = "visual-studio-code"
NEOVIM = "neovim"

REAL = (sys.executable, "-c", "import sys; from gradsense.lsp.main import serve; sys.exit(serve())")
FAKE = (sys.executable, str(Path(__file__).with_name("fake_server.py")))


class Editor:
    """One client with open buffers."""

    def __init__(self, client: LanguageClient, result: types.InitializeResult) -> None:
        self.client = client
        self.capabilities = result.capabilities
        self.encoding = types.PositionEncodingKind(result.capabilities.position_encoding or "utf-16").value
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[str] = []
        self._news = asyncio.Event()
        client.protocol.fm.features.pop(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def take(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
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
        """Waits for the diagnostics of a buffer that are published next."""
        return list((await self.publication(uri, seconds)).diagnostics)

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

    def _tell(self, uri: str, events: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        params = types.DidChangeTextDocumentParams(text_document=identifier, content_changes=list(events))
        self.client.text_document_did_change(params)


@asynccontextmanager
async def editing(
    kind: str = VS_CODE,
    command: Sequence[str] = FAKE,
    encodings: Sequence[str] | None = None,
    options: Any = None,
    folder: Path | None = None,
    capabilities: types.ClientCapabilities | None = None,
) -> AsyncIterator[Editor]:
    """Starts a server and an editor of some kind, and ends both.

    Args:
        kind: the editor whose capabilities are told.
        command: how the server is started.
        encodings: the position encodings on offer, in order; None for those of the editor.
        options: the initialization options.
        folder: the workspace folder.
        capabilities: told instead of those of `kind`.
    """
    client = make_test_lsp_client()
    told = capabilities or client_capabilities(kind)
    if encodings is not None:
        told.general = told.general or types.GeneralClientCapabilities()
        told.general.position_encodings = list(encodings)
    await client.start_io(*command, cwd=folder, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)] if folder is not None else None
    params = types.InitializeParams(capabilities=told, initialization_options=options, workspace_folders=folders)
    editor = Editor(client, await client.initialize_session(params))
    try:
        yield editor
    finally:
        server: Any = client._server
        if server.returncode is None:
            await client.shutdown_session()
        await client.stop()


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
