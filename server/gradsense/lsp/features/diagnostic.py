"""`textDocument/diagnostic`: squiggles for a client that asks for them, and `workspace/diagnostic/refresh`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features import diagnostics
from gradsense.lsp.messages import Stage
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer

IDENTIFIER = "gradsense"

_Full = types.FullDocumentDiagnosticReport
_Unchanged = types.UnchangedDocumentDiagnosticReport
_Report = types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds this method to the server, for a client that asks."""
    session = server.session
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier=IDENTIFIER, work_done_progress=True
    )

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def answer(params: types.DocumentDiagnosticParams) -> _Report:
        document = session.documents.get(params.text_document.uri)
        if document is None or not document.program.asked_for:
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        program = document.program
        if program.is_python:
            await program.settle(SETTLE_SECONDS, Stage.GLANCE)
        program.answered_revision = program.revision
        related = _related(server, document) or None
        name = _note(server, document)
        if related is None:
            tell(server, program)
        if name == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=name, related_documents=related)
        items = diagnostics.items_of(server, document)
        return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=name, related_documents=related)


def tell(server: GradSenseServer, program: Program) -> None:
    """Has the client ask again if what it was told of a program no longer holds, and it does not know that.

    It asks by itself after every edit.
    """
    if program.answered_revision != program.revision:
        return
    told = program.published
    if any(told.get(part.uri, "") not in ("", diagnostics.result_id(server, part)) for part in program.parts):
        # Once: what comes of it will be noted when it asks.
        program.answered_revision = -1
        refresh(server)


def refresh(server: GradSenseServer) -> None:
    """Has the client ask again for what it shows."""

    def done(error: object) -> None:
        log.debug("the client was told to ask for diagnostics again: %s", error)

    server.workspace_diagnostic_refresh(None, done)


def _note(server: GradSenseServer, document: Document) -> str:
    name = diagnostics.result_id(server, document)
    document.program.published[document.uri] = name
    return name


def _related(server: GradSenseServer, document: Document) -> dict[str, _Full | _Unchanged]:
    """What has changed in the other cells of a notebook since the client was told."""
    program = document.program
    if not server.session.client.related_documents:
        return {}
    found: dict[str, _Full | _Unchanged] = {}
    for part in program.parts:
        if part is not document and program.published.get(part.uri) != diagnostics.result_id(server, part):
            found[part.uri] = _Full(items=diagnostics.items_of(server, part), result_id=_note(server, part))
    return found
