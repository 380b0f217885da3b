"""Our places and edits in the protocol's types."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from gradsense.lsp.messages import EditView, Place
from gradsense.lsp.session import Session


def to_range(place: Place) -> types.Range:
    """A place as the protocol's range."""
    return types.Range(
        start=types.Position(place.line, place.character),
        end=types.Position(place.end_line, place.end_character),
    )


def overlap(place: Place, span: types.Range) -> bool:
    """Whether a place and a range share a position, their ends included."""
    start, end = (place.line, place.character), (place.end_line, place.end_character)
    return start <= (span.end.line, span.end.character) and (span.start.line, span.start.character) <= end


def to_workspace_edit(session: Session, edits: Iterable[EditView], created: str | None = None) -> types.WorkspaceEdit:
    """Edits as the client wants them: tied to the versions they are for where it understands that.

    Args:
        created: a file that has to be created before, by a client that can.
    """
    by_path: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(types.TextEdit(range=to_range(edit.place), new_text=edit.new_text))
    documents = session.documents
    # A client that can create files understands this form, whether or not it says so.
    if not session.client.versioned_edits and created is None:
        return types.WorkspaceEdit(changes={documents.uri_of(path): found for path, found in by_path.items()})
    first = [] if created is None else [types.CreateFile(uri=documents.uri_of(created))]
    return types.WorkspaceEdit(
        document_changes=[
            *first,
            *(
                types.TextDocumentEdit(
                    text_document=types.OptionalVersionedTextDocumentIdentifier(
                        uri=documents.uri_of(path), version=documents.version_of(path)
                    ),
                    edits=[*found],
                )
                for path, found in by_path.items()
            ),
        ]
    )
