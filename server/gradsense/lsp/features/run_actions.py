"""Code actions that try a fix on a copy: apply it there, run the step, and say what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.features.diagnostics import to_diagnostic
from gradsense.lsp.features.run_step import COMMAND

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document
    from gradsense.lsp.messages import Analysis, FindingView, FixView
    from gradsense.lsp.server import GradSenseServer

_RUNNABLE = ("error", "warning")


def actions(
    server: GradSenseServer,
    document: Document,
    analysis: Analysis,
    findings: Sequence[FindingView],
    fixes: Iterable[FixView],
) -> Iterator[types.CodeAction]:
    """An action for each finding that a run could confirm, with the first of its fixes."""
    if not server.session.settings_of(document.program).trusted:
        return
    first = {fix.finding: fix for fix in reversed([*fixes])}
    for finding in findings:
        fix = first.get(finding.index)
        if fix is None or finding.severity not in _RUNNABLE:
            continue
        argument: dict[str, object] = {
            "uri": document.program.uri,
            "line": finding.place.line,
            "fix": {"code": finding.code, "title": fix.title},
        }
        if document.notebook is not None:
            argument["cell"] = document.uri
        title = f"Try on a copy and run the step: {fix.title}"
        yield types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[to_diagnostic(server, analysis, finding)],
            command=types.Command(title=title, command=COMMAND, arguments=[argument]),
        )
