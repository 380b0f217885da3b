"""The open notebooks: their cells in document order, each of them a text document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.messages import CellText
from gradsense.lsp.program import Program, scheme_of

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document, Documents

_SCHEMES = ("file", "untitled", "vscode-interactive")
_PYTHON = "python"


class Notebook(Program):
    """One open notebook: all of its Python cells are one program, in document order.

    Args:
        documents: where its cells are kept as text documents.
    """

    def __init__(self, item: types.NotebookDocument, documents: Documents) -> None:
        super().__init__(item.uri)
        self.version = item.version
        # VS Code's client does not take an interactive window for a notebook in view, and never asks for its cells.
        self.asked_for = item.notebook_type != "interactive"
        self._documents = documents
        self._kinds: dict[str, types.NotebookCellKind] = {}
        self._order: list[Document] = []

    @property
    def is_python(self) -> bool:
        """Whether it is one that a person edits, rather than an old state of one that they look at."""
        return scheme_of(self.uri) in _SCHEMES

    @property
    def text(self) -> str:
        """Nothing: the text is in the cells."""
        return ""

    @property
    def size(self) -> int:
        """How many characters its Python cells have."""
        return sum(part.size for part in self.parts)

    @property
    def documents(self) -> tuple[Document, ...]:
        """All cells, text cells too."""
        return tuple(self._order)

    @property
    def parts(self) -> tuple[Document, ...]:
        """The Python cells."""
        return tuple(document for document in self._order if self.is_code(document))

    @property
    def cells(self) -> tuple[CellText, ...]:
        """The Python cells, as the analysis wants them."""
        return tuple(
            CellText(document.path, index, document.text)
            for index, document in enumerate(self._order)
            if self.is_code(document)
        )

    def is_code(self, document: Document) -> bool:
        """Whether a cell is one of Python."""
        return document.language_id == _PYTHON and self._kinds.get(document.uri) is types.NotebookCellKind.Code

    def splice(
        self,
        start: int,
        deleted: int,
        cells: Sequence[types.NotebookCell],
        opened: Sequence[types.TextDocumentItem] = (),
        closed: Sequence[types.TextDocumentIdentifier] = (),
    ) -> list[Document]:
        """Puts cells in the place of others.

        A cell that moves, or changes its language, is taken out and put in again under the same URI.

        Args:
            start: the place of the first; one past the end means the end.
            deleted: how many go.
            cells: those that come.
            opened: the text of those that are new.
            closed: those that are gone for good.

        Returns:
            The text documents that the notebook has no more.
        """
        before = self._order
        for identifier in closed:
            self._documents.close(identifier.uri)
        for item in opened:
            self._documents.open(item, self)
        start = max(0, min(start, len(before)))
        self._take(cells)
        coming = [self._cell(cell) for cell in cells]
        order = [*before[:start], *coming, *before[start + max(0, deleted) :]]
        # What is in the order is what is open under that name now.
        self._order = [self._documents.get(document.uri) or document for document in order]
        left = {document.uri for document in self._order}
        gone = [document for document in before if document.uri not in left]
        for document in gone:
            self._kinds.pop(document.uri, None)
            self._documents.close(document.uri)
        self.revision += 1
        return gone

    def update(self, cells: Sequence[types.NotebookCell]) -> None:
        """Takes what else is said about cells; that they were run, say, changes nothing for us."""
        if self._take(cells):
            self.revision += 1

    def _take(self, cells: Sequence[types.NotebookCell]) -> bool:
        kinds = {cell.document: cell.kind for cell in cells}
        changed = any(self._kinds.get(uri) is not kind for uri, kind in kinds.items())
        self._kinds.update(kinds)
        return changed

    def _cell(self, cell: types.NotebookCell) -> Document:
        document = self._documents.get(cell.document)
        if document is not None and document.notebook is self:
            return document
        # A client that names a cell without giving its text: there is nothing in it as far as we know.
        return self._documents.open(types.TextDocumentItem(cell.document, "plaintext", 0, ""), self)
