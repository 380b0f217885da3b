"""`textDocument/publishDiagnostics`: squiggles for a client that waits to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features import diagnostics

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer


def tell(server: GradSenseServer, program: Program) -> None:
    """Publishes what has changed in the text documents of a program since they were published last."""
    parts = {part.uri: part for part in program.parts}
    for uri in [uri for uri in program.published if uri not in parts]:
        # A cell that was removed, or is in another language now.
        _withdraw(server, uri)
        del program.published[uri]
    for uri, part in parts.items():
        name = diagnostics.result_id(server, part)
        if server.session.client.versions:
            # What was told of an older version may be thought out of date, even where it is the same.
            name = f"{name} {part.version}"
        if program.published.get(uri) != name:
            program.published[uri] = name
            _publish(server, part)


def withdraw(server: GradSenseServer, program: Program) -> None:
    """Takes the squiggles of a program that was closed away, even where none are known to be there."""
    if not (server.session.client.pull and program.asked_for):
        for uri in {*program.published, *(part.uri for part in program.parts)}:
            _withdraw(server, uri)
    program.published.clear()


def _publish(server: GradSenseServer, part: Document) -> None:
    params = types.PublishDiagnosticsParams(uri=part.uri, diagnostics=diagnostics.items_of(server, part))
    if server.session.client.versions:
        params.version = part.version
    server.text_document_publish_diagnostics(params)


def _withdraw(server: GradSenseServer, uri: str) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))
