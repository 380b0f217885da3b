"""`workspace/diagnostic`: squiggles of files that nobody has open, for a client that asks, and for one that waits.

Only where the setting `diagnosticMode` is `workspace`. The work is done in the background, shows how far it is, can be
cancelled, and is done again for what changes.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features import diagnostics
from gradsense.lsp.messages import Analysis

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

TITLE = "GradSense: checking the workspace"
_AT_ONCE = 20
"""How many files go into one message."""

_Item = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds this method to the server, for a client that asks."""

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def answer(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        previous = {told.uri: told.value for told in params.previous_result_ids}
        stream = _Stream(server, params.partial_result_token)
        while True:
            async with _Progress(server, params.work_done_token) as progress:
                await _report(server, previous, stream, progress)
            if stream.count or params.partial_result_token is None:
                return types.WorkspaceDiagnosticReport(items=stream.rest())
            # Nothing new: a client that takes answers bit by bit asks again at once, so it gets this one when there is.
            await server.session.workspace.change()


async def watch(server: GradSenseServer) -> None:
    """Publishes what is found for a client that waits to be told, for as long as the server runs."""
    while True:
        async with _Progress.of_ours(server) as progress:
            await _publish(server, server.session.workspace.published, progress)
        await server.session.workspace.change()


async def _report(server: GradSenseServer, previous: Mapping[str, str], stream: _Stream, progress: _Progress) -> None:
    workspace, documents = server.session.workspace, server.session.documents
    left = dict(previous)
    paths = await workspace.files()
    await progress.begin(len(paths))
    async for path, analysis in workspace.check(paths):
        uri = documents.uri_of(path)
        name = diagnostics.name_of(analysis.findings)
        if left.pop(uri, None) != name and (analysis.findings or uri in previous):
            items = _items(server, analysis)
            stream.add(types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=items, result_id=name))
        if progress.step():
            return
    for uri in left:
        document = documents.get(uri)
        if document is None:
            # It is gone, or is no longer to be shown.
            stream.add(types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=[]))


async def _publish(server: GradSenseServer, published: dict[str, str], progress: _Progress) -> None:
    workspace, documents = server.session.workspace, server.session.documents
    paths = await workspace.files()
    await progress.begin(len(paths))
    seen = set()
    async for path, analysis in workspace.check(paths):
        uri = documents.uri_of(path)
        name = diagnostics.name_of(analysis.findings)
        seen.add(uri)
        if published.get(uri) != name and (analysis.findings or uri in published):
            published[uri] = name
            _tell(server, uri, _items(server, analysis))
        if progress.step():
            return
    for uri in [uri for uri in published if uri not in seen]:
        del published[uri]
        if documents.get(uri) is None:
            _tell(server, uri, [])


def _items(server: GradSenseServer, analysis: Analysis) -> list[types.Diagnostic]:
    return [diagnostics.to_diagnostic(server, analysis, finding) for finding in analysis.findings]


def _tell(server: GradSenseServer, uri: str, items: Sequence[types.Diagnostic]) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=items))


class _Stream:
    """The answer: in bits, where the client gave a token for them, else all at the end."""

    def __init__(self, server: GradSenseServer, token: types.ProgressToken | None) -> None:
        self._server = server
        self._token = token
        self._items: list[_Item] = []
        self.count = 0

    def add(self, item: _Item) -> None:
        """One more file."""
        self.count += 1
        self._items.append(item)
        if self._token is not None and len(self._items) >= _AT_ONCE:
            self._send(self._token)

    def rest(self) -> list[_Item]:
        """What has not been sent."""
        if self._token is not None:
            self._send(self._token)
        return self._items

    def _send(self, token: types.ProgressToken) -> None:
        if self._items:
            bit = types.WorkspaceDiagnosticReportPartialResult(items=self._items)
            self._server.progress(types.ProgressParams(token=token, value=bit))
            self._items = []


class _Progress:
    """How far it is, for the person: under the client's token, or none."""

    def __init__(self, server: GradSenseServer, token: types.ProgressToken | None, *, ours: bool = False) -> None:
        self._shown = server.work_done_progress
        self._token = token
        self._ours = ours
        self._begun = False
        self._done = self._total = 0

    @classmethod
    def of_ours(cls, server: GradSenseServer) -> _Progress:
        """Under a token of our own, where the client can show it."""
        return cls(server, uuid.uuid4().hex if server.session.client.progress else None, ours=True)

    async def __aenter__(self) -> _Progress:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._begun and self._token is not None:
            self._shown.end(self._token, types.WorkDoneProgressEnd())
            self._shown.tokens.pop(self._token, None)

    async def begin(self, total: int) -> None:
        """There are so many files."""
        self._total = total
        if self._token is None or not total:
            return
        if self._ours:
            try:
                await asyncio.wait_for(self._shown.create_async(self._token), 10)
            except Exception as error:
                log.info("the client does not show progress: %s", error)
                self._token = None
                return
        begin = types.WorkDoneProgressBegin(title=TITLE, cancellable=True, message=f"0/{total}", percentage=0)
        self._shown.begin(self._token, begin)
        self._begun = True

    def step(self) -> bool:
        """One more file is done; whether the person has cancelled it."""
        self._done += 1
        if not self._begun or self._token is None:
            return False
        message, percentage = f"{self._done}/{self._total}", 100 * self._done // self._total
        self._shown.report(self._token, types.WorkDoneProgressReport(message=message, percentage=percentage))
        return self._shown.tokens[self._token].cancelled()
