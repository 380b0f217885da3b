"""From an analysis to squiggles: what `textDocument/publishDiagnostics` and `textDocument/diagnostic` share."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradsense.lsp.convert import to_range
from gradsense.lsp.features import configuration, diagnostic, log_trace, publish_diagnostics
from gradsense.lsp.messages import Analyse, Analysis, FindingView, Interrupted, Stage

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer
    from gradsense.lsp.settings import EditorSettings

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


async def refresh(server: GradSenseServer, program: Program, stage: Stage = Stage.WHOLE) -> Stage | None:
    """Analyses a program's text of now, and shows what was found unless the text has changed meanwhile.

    Args:
        server: ours.
        program: an open program.
        stage: how far to go.

    Returns:
        How far it went, or None where something came in between.
    """
    session = server.session
    settings = session.settings_of(program)
    too_large = program.is_python and program.size > settings.most_bytes
    if too_large:
        _tell_size(server, program, settings)
    if too_large or not (settings.enable and program.is_python):
        program.analysis = None
        show(server, program)
        return Stage.WHOLE
    revision = program.revision
    request = Analyse(
        path=program.path,
        text=program.text,
        revision=revision,
        encoding=session.client.encoding,
        root=session.root_of(program),
        overrides=settings.overrides,
        cells=program.cells,
        stage=stage,
    )
    reply: Analysis | Interrupted | None = await session.ask(request, (Analysis, Interrupted))
    if isinstance(reply, Interrupted):
        return None
    if reply is None:
        program.failures += 1
        return None
    program.failures = 0
    told = f"{len(reply.findings)} findings ({reply.reached.name.lower()}, {reply.seconds * 1000:.0f} ms)"
    codes = " ".join(f"{found.code}@{found.place.line + 1}" for found in reply.findings)
    log_trace.tell(server, f"{program.path}: {told}", codes)
    if program.notes_due and reply.reached is Stage.WHOLE:
        program.notes_due = False
        for note in reply.notes:
            log.info("%s: %s", program.path, note)
    configuration.tell(server, list(reply.problems))
    if reply.reached is Stage.WHOLE:
        session.lookups.ask(program, reply.questions)
    if program.revision != revision or session.documents.program(program.uri) is not program:
        return None
    program.analysis = reply
    show(server, program)
    return reply.reached


def _tell_size(server: GradSenseServer, program: Program, settings: EditorSettings) -> None:
    name = os.path.basename(program.path)
    text = f"{name} has more than {settings.max_file_size:g} MB and is left alone (setting maxFileSize)"
    configuration.tell(server, [text])


def show(server: GradSenseServer, program: Program) -> None:
    """Sees to it that the client shows what is known of a program by now, in whichever way it wants to be told."""
    if server.session.client.pull and program.asked_for:
        diagnostic.tell(server, program)
    else:
        publish_diagnostics.tell(server, program)


def attach(server: GradSenseServer, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
    """Shows diagnostics from elsewhere, such as those of a run, beside the findings of an open text document.

    They stay until others, or none, take their place.
    """
    session = server.session
    if diagnostics:
        session.attached[uri] = tuple(diagnostics)
    else:
        session.attached.pop(uri, None)
    document = session.documents.get(uri)
    if document is not None:
        show(server, document.program)


def items_of(server: GradSenseServer, part: Document) -> list[types.Diagnostic]:
    """All that is shown in a text document."""
    program = part.program
    found: list[types.Diagnostic] = []
    if program.analysis is not None:
        found = [to_diagnostic(server, program.analysis, finding) for finding in program.findings_of(part)]
    return [*found, *server.session.attached.get(part.uri, ())]


def result_id(server: GradSenseServer, part: Document) -> str:
    """A name for all that is shown in a text document: the same for the same."""
    return name_of(part.program.findings_of(part), server.session.attached.get(part.uri, ()))


def name_of(findings: Sequence[FindingView], attached: Sequence[types.Diagnostic] = ()) -> str:
    """A name for what is shown."""
    shown = (tuple(findings), tuple(attached))
    return hashlib.blake2s(repr(shown).encode(errors="backslashreplace"), digest_size=12).hexdigest()


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
