"""`textDocument/publishDiagnostics`: the squiggles."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradsense.lsp.convert import to_range
from gradsense.lsp.features import configuration
from gradsense.lsp.messages import Analyse, Analysis, FindingView

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.server import GradSenseServer

SOURCE = "gradsense"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}
_TAGS = {
    "unnecessary": types.DiagnosticTag.Unnecessary,
    "deprecated": types.DiagnosticTag.Deprecated,
}

log = logging.getLogger(__name__)


async def refresh(server: GradSenseServer, document: Document) -> None:
    """Analyses a document's text of now, and publishes what was found unless the text has changed meanwhile."""
    session = server.session
    settings = session.settings_of(document)
    if not (settings.enable and document.is_python):
        document.analysis = None
        clear(server, document)
        return
    revision = document.revision
    request = Analyse(
        path=document.path,
        text=document.text,
        revision=revision,
        encoding=session.client.encoding,
        root=session.root_of(document),
        overrides=settings.overrides,
    )
    analysis = await session.ask(request, Analysis)
    if analysis is None:
        document.failures += 1
        return
    document.failures = 0
    if document.notes_due:
        document.notes_due = False
        for note in analysis.notes:
            log.info("%s: %s", document.path, note)
    configuration.tell(server, list(analysis.problems))
    if document.revision != revision or session.documents.get(document.uri) is not document:
        return
    before, document.analysis = document.current_analysis, analysis
    if before is None or before.findings != analysis.findings:
        _publish(server, document, [to_diagnostic(server, analysis, finding) for finding in analysis.findings])


def clear(server: GradSenseServer, document: Document) -> None:
    """Takes a document's squiggles away."""
    _publish(server, document, [])


def to_diagnostic(server: GradSenseServer, analysis: Analysis, finding: FindingView) -> types.Diagnostic:
    """A finding in the protocol's words, with no more than the client understands."""
    client = server.session.client
    diagnostic = types.Diagnostic(
        range=to_range(finding.place),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
    )
    if client.links and finding.url:
        diagnostic.code_description = types.CodeDescription(href=finding.url)
    tags = [_TAGS[tag] for tag in finding.tags if tag in _TAGS and _TAGS[tag] in client.tags]
    if tags:
        diagnostic.tags = tags
    if client.related and finding.related:
        diagnostic.related_information = [
            types.DiagnosticRelatedInformation(
                location=types.Location(uri=server.session.documents.uri_of(line.path), range=to_range(line.place)),
                message=line.message,
            )
            for line in finding.related
        ]
    if client.data:
        diagnostic.data = {"revision": analysis.revision, "finding": finding.index}
    return diagnostic


def finding_of(analysis: Analysis, diagnostic: types.Diagnostic) -> FindingView | None:
    """The finding that a diagnostic which the client sends back was made from, if it is of this analysis."""
    data: Any = diagnostic.data
    if diagnostic.source != SOURCE or not isinstance(data, dict) or data.get("revision") != analysis.revision:
        return None
    index = data.get("finding")
    return next((finding for finding in analysis.findings if finding.index == index), None)


def _publish(server: GradSenseServer, document: Document, diagnostics: list[types.Diagnostic]) -> None:
    params = types.PublishDiagnosticsParams(uri=document.uri, diagnostics=diagnostics)
    if server.session.client.versions:
        params.version = document.version
    server.text_document_publish_diagnostics(params)
