"""`textDocument/codeLens`: offers to run training loops and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.convert import to_range
from gradsense.lsp.features.guard import guarded
from gradsense.lsp.features.run_step import COMMAND
from gradsense.lsp.messages import FindLenses, Lenses
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

TITLE = "Run step under anomaly detection"


def register(server: GradSenseServer) -> None:
    """Adds this method to the server."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    @guarded(empty=list)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        document = session.documents.get(params.text_document.uri)
        if document is None or not document.is_python or COMMAND not in server.protocol.fm.commands:
            return []
        program = document.program
        settings = session.settings_of(program)
        if not (settings.code_lens and settings.enable and settings.trusted):
            return []
        analysis = await program.settle(SETTLE_SECONDS)
        if analysis is None:
            return []
        found = await session.ask(FindLenses(analysis.path, analysis.revision), Lenses)
        title = f"$(play) {TITLE}" if session.client.icons else TITLE
        lenses = []
        for run in () if found is None else found.places:
            if run.path != document.path:
                continue
            argument = {"uri": program.uri, "line": run.place.line}
            if document.notebook is not None:
                argument["cell"] = document.uri
            command = types.Command(title=title, command=COMMAND, arguments=[argument])
            lenses.append(types.CodeLens(range=to_range(run.place), command=command))
        return lenses
