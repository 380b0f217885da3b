"""What a hover says about a run, on the lines of its story."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.lsp.run_view import hover_of

if TYPE_CHECKING:
    from lsprotocol import types

    from gradsense.lsp.documents import Document
    from gradsense.lsp.session import Session


def text(session: Session, document: Document, position: types.Position) -> str | None:
    """The tracebacks and the passes of the runs whose story has this line, or None where there is none."""
    parts = []
    for run in session.runs.values():
        lines = run.at(document.uri, position)
        if lines:
            parts.append(hover_of(run, lines, markdown=session.client.markdown))
    return "\n\n".join(parts) or None
