"""`textDocument/codeAction` and `codeAction/resolve`: the fixes.

For each finding at the place: its fixes, the preferred one first, then what silences it. For each statement there that
writes in place, whether that is found fault with or not: itself written without (`refactor.rewrite`). For each kind of
finding there, one action that mends all of that kind in the file or notebook, and one that tries the first fix on a
copy and runs the step. For the file or cell,
`source.fixAll.gradsense`; for a notebook, `notebook.source.fixAll.gradsense`. An action for a whole file is worked out
only when the client picks it, where it lets us wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from gradsense.lsp.convert import overlap, to_workspace_edit
from gradsense.lsp.features import run_actions
from gradsense.lsp.features.diagnostics import finding_of, to_diagnostic
from gradsense.lsp.features.guard import guarded
from gradsense.lsp.messages import (
    Analysis,
    Edits,
    FindFixes,
    FindingView,
    FindRewrites,
    FixAll,
    Fixes,
    FixView,
    ProjectEdit,
    Rewrites,
    Silence,
)
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.gradsense"
NOTEBOOK_FIX_ALL = f"notebook.{FIX_ALL}"
_QUICK_FIX = types.CodeActionKind.QuickFix
_REWRITE = types.CodeActionKind.RefactorRewrite
_HINT = "hint"


@dataclass(frozen=True)
class _Request:
    """One request, and the findings of the program, and of the text document, that it is about."""

    server: GradSenseServer
    document: Document
    analysis: Analysis
    findings: tuple[FindingView, ...]
    context: types.CodeActionContext

    def wants(self, kind: str) -> bool:
        """Whether the client asked for actions of this kind, or did not say which it wants."""
        only = self.context.only
        return not only or any(kind == wanted or kind.startswith(f"{wanted}.") or wanted == "" for wanted in only)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""
    session = server.session
    kinds: list[types.CodeActionKind | str] = [_QUICK_FIX, _REWRITE, FIX_ALL, NOTEBOOK_FIX_ALL]

    options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    @guarded(empty=list)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = session.documents.get(params.text_document.uri)
        if document is None or not document.is_python or not session.client.action_literals:
            return []
        analysis = await document.program.settle(SETTLE_SECONDS)
        if analysis is None:
            return []
        request = _Request(server, document, analysis, document.program.findings_of(document), params.context)
        actions: list[types.CodeAction] = []
        if request.wants(_QUICK_FIX):
            actions.extend(await _quick_fixes(request, _findings_at(request, params.range)))
        if request.wants(_REWRITE):
            actions.extend(await _rewrites(request, params.range))
        if analysis.findings and request.wants(FIX_ALL):
            actions.extend(await _fix_all(request, None, "Fix all that GradSense can fix safely", FIX_ALL, here=True))
        if analysis.findings and document.notebook is not None and request.wants(NOTEBOOK_FIX_ALL):
            title = "Fix all in this notebook that GradSense can fix safely"
            actions.extend(await _fix_all(request, None, title, NOTEBOOK_FIX_ALL, here=False))
        return actions

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data: Any = action.data
        document = session.documents.get(data["uri"]) if isinstance(data, dict) and "uri" in data else None
        if document is None or await document.program.settle(SETTLE_SECONDS) is None:
            raise JsonRpcContentModified("the document has changed; ask for its fixes again")
        program = document.program
        if "project" in data:
            action.edit = await _silenced(server, program, data["project"])
            return action
        request = FixAll(program.path, program.revision, data.get("code"), data.get("cell"))
        edits = await session.ask(request, Edits)
        if edits is None:
            raise JsonRpcContentModified("the document has changed; ask for its fixes again")
        action.edit = to_workspace_edit(session, edits.edits)
        return action


def _findings_at(request: _Request, place: types.Range) -> list[FindingView]:
    """The findings that touch a place, and those of the diagnostics that the client names."""
    named = [finding_of(request.analysis, diagnostic) for diagnostic in request.context.diagnostics]
    return [found for found in request.findings if found in named or overlap(found.place, place)]


async def _quick_fixes(request: _Request, findings: Sequence[FindingView]) -> list[types.CodeAction]:
    if not findings:
        return []
    indices = tuple(finding.index for finding in findings)
    analysis = request.analysis
    fixes = await request.server.session.ask(FindFixes(analysis.path, analysis.revision, indices), Fixes)
    if fixes is None or request.document.program.revision != analysis.revision:
        return []
    actions = [*_single_fixes(request, findings, fixes.fixes)]
    mendable = {fix.finding for fix in fixes.fixes if fix.safe}
    codes = {found.code for found in findings if found.index in mendable and found.severity != _HINT}
    for code in sorted(codes):
        if sum(found.code == code for found in analysis.findings) > 1:
            where = "file" if request.document.notebook is None else "notebook"
            actions.extend(await _fix_all(request, code, f"Fix all {code} in this {where}", _QUICK_FIX, here=False))
    actions.extend(run_actions.actions(request.server, request.document, analysis, findings, fixes.fixes))
    actions.extend(_single_fixes(request, findings, fixes.suppressions))
    for code in dict.fromkeys(finding.code for finding in findings):
        actions.extend(await _silence(request, code))
    return actions


async def _rewrites(request: _Request, place: types.Range) -> list[types.CodeAction]:
    document, analysis = request.document, request.analysis
    name = document.path if document.notebook is not None else None
    question = FindRewrites(analysis.path, analysis.revision, name, place.start.line, place.end.line)
    found = await request.server.session.ask(question, Rewrites)
    if found is None or document.program.revision != analysis.revision:
        return []
    session = request.server.session
    return [
        types.CodeAction(title=rewrite.title, kind=_REWRITE, edit=to_workspace_edit(session, rewrite.edits))
        for rewrite in found.rewrites
    ]


async def _silence(request: _Request, code: str) -> list[types.CodeAction]:
    """The action that ignores a rule in the project's settings."""
    session, program = request.server.session, request.document.program
    title = f"Ignore {code} in this project (pyproject.toml)"
    action = types.CodeAction(title=title, kind=_QUICK_FIX)
    if session.root_of(program) is None:
        return []
    if session.client.resolve:
        action.data = {"uri": request.document.uri, "project": code}
        return [action]
    edit = await _silenced(request.server, program, code)
    action.edit = edit
    return [] if edit is None else [action]


async def _silenced(server: GradSenseServer, program: Program, code: str) -> types.WorkspaceEdit | None:
    session = server.session
    texts = {path: text for path, text in session.documents.texts() if path.endswith("pyproject.toml")}
    found = await session.ask(Silence(program.path, program.revision, code, texts), ProjectEdit)
    if found is None or (found.new and not session.client.creates):
        return None
    return to_workspace_edit(session, found.edits, created=found.path if found.new else None)


def _single_fixes(
    request: _Request, findings: Sequence[FindingView], fixes: Iterable[FixView]
) -> Iterator[types.CodeAction]:
    session = request.server.session
    by_index = {finding.index: finding for finding in findings}
    for fix in fixes:
        diagnostic = to_diagnostic(request.server, request.analysis, by_index[fix.finding])
        action = types.CodeAction(
            title=fix.label,
            kind=_QUICK_FIX,
            diagnostics=[diagnostic],
            edit=to_workspace_edit(session, fix.edits),
        )
        # Editors apply the preferred fix without showing it, so one that may change results is never it.
        if session.client.preferred and fix.preferred and fix.safe:
            action.is_preferred = True
        yield action


async def _fix_all(request: _Request, code: str | None, title: str, kind: str, *, here: bool) -> list[types.CodeAction]:
    """The action that mends all findings of a code, or of any; none where there turns out to be nothing to mend.

    Args:
        here: of a notebook, only the cell that was asked about is looked at and changed.
    """
    session, document = request.server.session, request.document
    cell = document.path if here and document.notebook is not None else None
    action = types.CodeAction(title=title, kind=kind)
    if session.client.resolve:
        action.data = {"uri": document.uri, "code": code, "cell": cell}
        return [action]
    edits = await session.ask(FixAll(request.analysis.path, request.analysis.revision, code, cell), Edits)
    if edits is None or not edits.edits or document.program.revision != request.analysis.revision:
        return []
    action.edit = to_workspace_edit(session, edits.edits)
    return [action]
