"""The command `gradsense.explain`: what a pasted traceback means, for an editor that shows it as it likes.

Its argument is an object with `text` (the traceback) and perhaps `uri` (the document it belongs to: notebook cells are
found only so). It answers null where no error about gradients is in the text, and otherwise an object with `cause`,
`title`, `code` (or null), `markdown`, `location` (where its file is here) and `fixes`, each with `title`, `safe` and a
workspace `edit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from gradsense.lsp.convert import to_range, to_workspace_edit
from gradsense.lsp.messages import Explained, ExplainText, TracebackView
from gradsense.lsp.session import SETTLE_SECONDS

if TYPE_CHECKING:
    from gradsense.lsp.program import Program
    from gradsense.lsp.server import GradSenseServer

COMMAND = "gradsense.explain"


def register(server: GradSenseServer) -> None:
    """Adds this command to the server."""
    session = server.session

    @server.command(COMMAND)
    async def explain(argument: Any) -> Any:
        text, program = _asked(server, argument)
        if program is not None and program.is_python:
            # The analysis reads its newest text from then on.
            await program.settle(SETTLE_SECONDS)
        own = session.root_of(program) if program is not None else None
        roots = tuple(dict.fromkeys([own, *session.roots] if own is not None else session.roots))
        request = ExplainText(text, program.path if program is not None else None, roots, session.client.encoding)
        reply = await session.ask(request, Explained)
        return None if reply is None or reply.found is None else _answer(server, reply.found)


def _asked(server: GradSenseServer, asked: Any) -> tuple[str, Program | None]:
    if not isinstance(asked, Mapping) or not isinstance(asked.get("text"), str):
        raise JsonRpcInvalidParams(f"{COMMAND} needs an object with the traceback as `text`, and perhaps a `uri`")
    documents = server.session.documents
    uri = asked.get("uri")
    if not isinstance(uri, str):
        return asked["text"], None
    document = documents.get(uri)
    return asked["text"], document.program if document is not None else documents.program(uri)


def _answer(server: GradSenseServer, found: TracebackView) -> dict[str, Any]:
    session = server.session
    location = None
    if found.place is not None:
        location = types.Location(uri=session.documents.uri_of(found.path), range=to_range(found.place))
    return {
        "cause": found.cause,
        "code": found.code,
        "title": found.title,
        "markdown": found.markdown,
        "location": location,
        "fixes": [
            {"title": fix.label, "safe": fix.safe, "edit": to_workspace_edit(session, fix.edits)} for fix in found.fixes
        ],
    }
