"""`textDocument/hover`: what a squiggle means, in full; on a tensor, what autograd's books say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.convert import overlap, to_range
from gradsense.lsp.explanation import Explanation
from gradsense.lsp.features import run_hover
from gradsense.lsp.features.guard import guarded
from gradsense.lsp.messages import (
    Analysis,
    DescribeTensor,
    Explain,
    FindFixes,
    FindingView,
    Fixes,
    Page,
    RuleView,
    TensorBooks,
)
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
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
        here = types.Range(start=params.position, end=params.position)
        found = document.program.findings_of(document) if analysis is not None else ()
        findings = [finding for finding in found if overlap(finding.place, here)]
        parts = [run_hover.text(session, document, params.position)]
        place = None
        if analysis is not None and findings:
            place = to_range(findings[0].place)
            explanations = await _explanations(session, analysis, findings)
            parts += [_explained(session, explanation) for explanation in explanations]
        elif analysis is not None:
            books = await _books(session, document, analysis, params.position)
            if books is not None:
                place = to_range(books.place)
                parts.append(_described(session, books))
        return _hover(session, [part for part in parts if part], place)


async def _books(
    session: Session, document: Document, analysis: Analysis, position: types.Position
) -> TensorBooks | None:
    """What the books say of the tensor under the cursor."""
    name = document.path if document.notebook is not None else None
    question = DescribeTensor(analysis.path, analysis.revision, name, position.line, position.character)
    books = await session.ask(question, TensorBooks)
    return books if document.program.revision == analysis.revision else None


def _described(session: Session, books: TensorBooks) -> str:
    if session.client.markdown:
        return "\n".join([f"**`{books.name}`** {books.kind}\n", *(f"- {fact}" for fact in books.facts)])
    return "\n".join([f"{books.name}: {books.kind}", *(f"    {fact}" for fact in books.facts)])


async def _explanations(session: Session, analysis: Analysis, findings: list[FindingView]) -> list[Explanation]:
    indices = tuple(finding.index for finding in findings)
    fixes = await session.ask(FindFixes(analysis.path, analysis.revision, indices), Fixes)
    explanations = []
    for finding in findings:
        own = [fix for fix in fixes.fixes if fix.finding == finding.index] if fixes is not None else []
        explanations.append(Explanation(finding, tuple(own), await rule_of(session, finding.code)))
    return explanations


async def rule_of(session: Session, code: str) -> RuleView | None:
    """A rule with its page, asked for once."""
    if code not in session.rules:
        page = await session.ask(Explain(code), Page)
        if page is None or page.rule is None:
            return None
        session.rules[code] = page.rule
    return session.rules[code]


def _explained(session: Session, explanation: Explanation) -> str:
    client = session.client
    return explanation.markdown(message=not client.repeats) if client.markdown else explanation.plain()


def _hover(session: Session, parts: list[str], place: types.Range | None) -> types.Hover | None:
    if not parts:
        return None
    if session.client.markdown:
        contents = types.MarkupContent(kind=types.MarkupKind.Markdown, value="\n\n---\n\n".join(parts))
    else:
        contents = types.MarkupContent(kind=types.MarkupKind.PlainText, value="\n\n".join(parts))
    return types.Hover(contents=contents, range=place)
