"""`textDocument/hover`: what a squiggle means, in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.convert import overlap, to_range
from gradsense.lsp.explanation import Explanation
from gradsense.lsp.features.guard import guarded
from gradsense.lsp.messages import Analysis, Explain, FindFixes, FindingView, Fixes, Page, RuleView
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer
    from gradsense.lsp.session import Session


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @guarded(empty=lambda: None)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        document = session.documents.get(params.text_document.uri)
        if document is None or not document.is_python:
            return None
        analysis = await document.program.settle(SETTLE_SECONDS)
        if analysis is None:
            return None
        here = types.Range(start=params.position, end=params.position)
        findings = [finding for finding in document.program.findings_of(document) if overlap(finding.place, here)]
        if not findings:
            return None
        explanations = await _explanations(session, analysis, findings)
        return types.Hover(contents=_contents(session, explanations), range=to_range(findings[0].place))


async def _explanations(session: Session, analysis: Analysis, findings: list[FindingView]) -> list[Explanation]:
    indices = tuple(finding.index for finding in findings)
    fixes = await session.ask(FindFixes(analysis.path, analysis.revision, indices), Fixes)
    explanations = []
    for finding in findings:
        own = [fix for fix in fixes.fixes if fix.finding == finding.index] if fixes is not None else []
        explanations.append(Explanation(finding, tuple(own), await _rule(session, finding.code)))
    return explanations


async def _rule(session: Session, code: str) -> RuleView | None:
    if code not in session.rules:
        page = await session.ask(Explain(code), Page)
        if page is None or page.rule is None:
            return None
        session.rules[code] = page.rule
    return session.rules[code]


def _contents(session: Session, explanations: list[Explanation]) -> types.MarkupContent:
    if session.client.markdown:
        text = "\n\n---\n\n".join(explanation.markdown() for explanation in explanations)
        return types.MarkupContent(kind=types.MarkupKind.Markdown, value=text)
    text = "\n\n".join(explanation.plain() for explanation in explanations)
    return types.MarkupContent(kind=types.MarkupKind.PlainText, value=text)
