"""The open documents: their text as the client edits it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types
from pygls.uris import from_fs_path

from gradsense.lsp.messages import CellText
from gradsense.lsp.notebooks import Notebook
from gradsense.lsp.program import Program, scheme_of
from gradsense.syntax.columns import Encoding, decode_column

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SCHEMES = ("file", "untitled")
_JSON_NOTEBOOK = re.compile(r"\s*\{")


class Document(Program):
    """One open text document: a program of its own, or a cell of a notebook.

    Lines end where the protocol says (`\\n`, `\\r\\n`, `\\r`) and nowhere else; the last has no end, and may be empty.

    Args:
        notebook: the notebook that it is a cell of.
    """

    def __init__(self, item: types.TextDocumentItem, notebook: Notebook | None = None) -> None:
        super().__init__(item.uri)
        self.language_id = item.language_id
        self.version = item.version
        self.notebook = notebook
        if notebook is not None:
            # What a URI says of a cell's place need not be its own.
            self.path = item.uri
        self._lines = split_lines(item.text)
        self._size = len(item.text)

    @property
    def program(self) -> Program:
        """What is analysed when this is looked at: the notebook of a cell, else the document itself."""
        return self if self.notebook is None else self.notebook

    @property
    def text(self) -> str:
        """All of the document."""
        return "".join(self._lines)

    @property
    def size(self) -> int:
        """How many characters it has."""
        return self._size

    @property
    def cells(self) -> tuple[CellText, ...] | None:
        """None: it is no notebook."""
        return None

    @property
    def parts(self) -> tuple[Document, ...]:
        """The document itself."""
        return (self,)

    @property
    def is_python(self) -> bool:
        """Whether this is Python that the analysis can look at: a file of it, or a cell of an open notebook.

        A cell without its notebook is not, nor is a notebook that was opened as the JSON text that it is on disk.
        """
        if self.notebook is not None:
            return self.notebook.is_python and self.notebook.is_code(self)
        if scheme_of(self.uri) not in _SCHEMES:
            return False
        if self.path.endswith(".ipynb") and _JSON_NOTEBOOK.match(self.text):
            return False
        return self.language_id == "python" or self.path.endswith((".py", ".pyw"))

    def change(self, changes: Sequence[types.TextDocumentContentChangeEvent], version: int, encoding: Encoding) -> None:
        """Applies the client's edits in order; places past the end of a line or of the text mean that end."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._splice(change.range, change.text, encoding)
            else:
                self._lines = split_lines(change.text)
                self._size = len(change.text)
        self.version = version
        self.revision += 1

    def _splice(self, place: types.Range, text: str, encoding: Encoding) -> None:
        first, start = self._locate(place.start, encoding)
        last, end = self._locate(place.end, encoding)
        if (last, end) < (first, start):
            first, start, last, end = last, end, first, start
        chunk = self._lines[first][:start] + text + self._lines[last][end:]
        if first and chunk.startswith("\n") and self._lines[first - 1].endswith("\r"):
            first -= 1
            chunk = self._lines[first] + chunk
        lines = split_lines(chunk)
        if last + 1 < len(self._lines):
            lines.pop()
        self._size += sum(map(len, lines)) - sum(map(len, self._lines[first : last + 1]))
        self._lines[first : last + 1] = lines

    def _locate(self, position: types.Position, encoding: Encoding) -> tuple[int, int]:
        if position.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        line = self._lines[position.line].rstrip("\r\n")
        return position.line, decode_column(line, position.character, encoding)


class Documents:
    """All open documents, by the URI that the client uses."""

    def __init__(self) -> None:
        self._by_uri: dict[str, Document] = {}
        self._by_path: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}

    def __iter__(self) -> Iterator[Program]:
        """All programs: notebooks, and documents that are not cells of one."""
        files = [document for document in self._by_uri.values() if document.notebook is None]
        return iter((*files, *self._notebooks.values()))

    def get(self, uri: str) -> Document | None:
        """The open text document of that URI."""
        return self._by_uri.get(uri)

    def program(self, uri: str) -> Program | None:
        """The open program of that URI."""
        notebook = self._notebooks.get(uri)
        if notebook is not None:
            return notebook
        document = self._by_uri.get(uri)
        return document if document is not None and document.notebook is None else None

    def notebook(self, uri: str) -> Notebook | None:
        """The open notebook of that URI."""
        return self._notebooks.get(uri)

    def open(self, item: types.TextDocumentItem, notebook: Notebook | None = None) -> Document:
        """Takes up a document; one that was open already is replaced.

        Args:
            notebook: the notebook that it is a cell of.
        """
        document = Document(item, notebook)
        before = self._by_uri.get(item.uri)
        if before is not None:
            document.revision = before.revision + 1
            before.settled(before.revision)
        self._by_uri[item.uri] = document
        self._by_path[document.path] = document
        return document

    def close(self, uri: str) -> Document | None:
        """Drops a document, and returns it if it was open."""
        document = self._by_uri.pop(uri, None)
        if document is not None:
            if self._by_path.get(document.path) is document:
                del self._by_path[document.path]
            document.settled(document.revision)
        return document

    def open_notebook(self, item: types.NotebookDocument, texts: Sequence[types.TextDocumentItem]) -> Notebook:
        """Takes up a notebook with its cells; one that was open already is replaced."""
        before = self.close_notebook(item.uri)
        notebook = Notebook(item, self)
        if before is not None:
            notebook.revision = before.revision + 1
        self._notebooks[item.uri] = notebook
        notebook.splice(0, 0, item.cells, opened=texts)
        return notebook

    def close_notebook(self, uri: str) -> Notebook | None:
        """Drops a notebook with its cells, and returns it if it was open."""
        notebook = self._notebooks.pop(uri, None)
        if notebook is not None:
            for cell in notebook.documents:
                self.close(cell.uri)
            notebook.settled(notebook.revision)
        return notebook

    def texts(self) -> Iterator[tuple[str, str]]:
        """The text documents that are open, each as its path and its text."""
        return ((document.path, document.text) for document in tuple(self._by_uri.values()))

    def is_open(self, path: str) -> bool:
        """Whether a file is open as a text document."""
        return path in self._by_path

    def uri_of(self, path: str) -> str:
        """The URI of a path that a finding names: spelt as the client spells it where the file is open."""
        document = self._by_path.get(path)
        if document is not None:
            return document.uri
        return path if scheme_of(path) in _SCHEMES else from_fs_path(path) or path

    def version_of(self, path: str) -> int | None:
        """The version of an open file, or None where the file on disk counts."""
        document = self._by_path.get(path)
        return None if document is None else document.version


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, and a last one without; there is always that last one."""
    lines = _LINE.findall(text)
    if not lines or lines[-1].endswith(("\r", "\n")):
        lines.append("")
    return lines
