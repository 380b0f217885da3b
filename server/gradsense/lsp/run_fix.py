"""Trying a fix: it is applied to a copy in memory, and that is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.convert import to_range, to_workspace_edit
from gradsense.lsp.documents import Document
from gradsense.lsp.messages import EditView, FindFixes, Fixes, FixView
from gradsense.lsp.run_request import RunRequest, plan
from gradsense.run.program import NothingToRun
from gradsense.run.report import Report
from gradsense.run.step import Step
from gradsense.run.trying import sentence
from gradsense.syntax import Source

if TYPE_CHECKING:
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer
    from gradsense.lsp.session import Session

APPLY = "Apply the fix"


@dataclass(frozen=True)
class Fixed:
    """A step with a fix in it.

    Args:
        step: the step of the mended copy.
        code: the finding that is mended.
        fix: what mends it.
    """

    step: Step
    code: str
    fix: FixView


async def fixed_step(session: Session, request: RunRequest, step: Step) -> Fixed:
    """The step with the fix that was asked for.

    Raises:
        NothingToRun: there is no such fix any more, or it changes other files too.
    """
    program = request.program
    code, title = request.fix or ("", "")
    analysis = program.current_analysis
    found = [finding for finding in analysis.findings if finding.code == code] if analysis else []
    fixes = None
    if analysis and found:
        indices = tuple(finding.index for finding in found)
        fixes = await session.ask(FindFixes(analysis.path, analysis.revision, indices), Fixes)
    fix = next((fix for fix in fixes.fixes if title in (fix.title, fix.label)), None) if fixes else None
    if fix is None:
        raise NothingToRun(f"there is no fix “{title}” of {code} any more; ask for the fixes again")
    paths = {part.path for part in program.parts}
    if any(edit.path not in paths for edit in fix.edits):
        raise NothingToRun(f"“{title}” changes other files too, so it cannot be tried on a copy; apply it and run")
    planned = await plan(session, request, _mended(session, program, fix.edits))
    # A fix that adds lines moves the line that the person is at; what runs is what ran before.
    spec = replace(planned.spec, until_line=_moved(program, fix.edits, step.spec.until_line), call=step.spec.call)
    return Fixed(replace(planned, spec=spec), code, fix)


async def offer(server: GradSenseServer, program: Program, fixed: Fixed, report: Report, revision: int) -> None:
    """Says what the fix does, and applies it if the person then wants it."""
    kind = types.MessageType.Info if report.is_clean else types.MessageType.Warning
    text = f"GradSense: {sentence(report)}"
    if not (report.is_clean and server.session.client.asks and program.revision == revision):
        server.window_show_message(types.ShowMessageParams(kind, text))
        return
    question = types.ShowMessageRequestParams(kind, text, [types.MessageActionItem(APPLY)])
    answer = await server.window_show_message_request_async(question)
    if answer is not None and answer.title == APPLY and program.revision == revision:
        edit = to_workspace_edit(server.session, fixed.fix.edits)
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label=fixed.fix.title))


def _mended(session: Session, program: Program, edits: Sequence[EditView]) -> Source:
    texts = {part.path: _edited(session, part, [e for e in edits if e.path == part.path]) for part in program.parts}
    if program.cells is None:
        return Source.from_text(program.path, texts[program.path])
    return Source.from_cells(program.path, [(cell.index, texts[cell.name]) for cell in program.cells])


def _edited(session: Session, part: Document, edits: Sequence[EditView]) -> str:
    copy = Document(types.TextDocumentItem(part.uri, part.language_id, part.version, part.text))
    # The edits are all against the text before any of them: the last one first keeps the others' places right.
    ordered = sorted(edits, key=lambda edit: (edit.place.line, edit.place.character), reverse=True)
    changes = [types.TextDocumentContentChangePartial(to_range(edit.place), edit.new_text) for edit in ordered]
    copy.change(changes, part.version, session.client.encoding)
    return copy.text


def _moved(program: Program, edits: Sequence[EditView], line: int | None) -> int | None:
    """A line of the program, from 1, after the edits above it."""
    if line is None:
        return None
    first, moved = 1, line
    for part in program.parts:
        for edit in edits:
            if edit.path == part.path and first + edit.place.end_line <= line:
                moved += edit.new_text.count("\n") - (edit.place.end_line - edit.place.line)
        first += part.text.count("\n") + 1
    return moved
