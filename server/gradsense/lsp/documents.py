"""The open documents: their text as the client edits it, and what was last found in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from gradsense.lsp.messages import Analysis
from gradsense.syntax.columns import Encoding, decode_column

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SCHEMES = ("file:", "untitled:")


class Document:
    """One open text document.

    Lines end where the protocol says (`\\n`, `\\r\\n`, `\\r`) and nowhere else; the last has no end, and may be empty.
    `revision` counts every change and is the server's own, so that nothing depends on how a client numbers versions.
    """

    def __init__(self, item: types.TextDocumentItem) -> None:
        self.uri = item.uri
        self.path = path_of(item.uri)
        self.language_id = item.language_id
        self.version = item.version
        self.revision = 0
        self.analysis: Analysis | None = None
        self.failures = 0
        """How many analyses in a row broke down."""
        self.notes_due = True
        """Whether the next analysis's notes are for the log; those of every keystroke would flood it."""
        self._lines = split_lines(item.text)
        self._settled = -1
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def text(self) -> str:
        """All of the document."""
        return "".join(self._lines)

    @property
    def is_python(self) -> bool:
        """Whether this is a Python file that the analysis can look at; a lone notebook cell is not."""
        return self.uri.startswith(_SCHEMES) and (self.language_id == "python" or self.path.endswith((".py", ".pyw")))

    @property
    def current_analysis(self) -> Analysis | None:
        """The findings of the text as it is now, or None while they are not in."""
        return self.analysis if self.analysis is not None and self.analysis.revision == self.revision else None

    def change(self, changes: Sequence[types.TextDocumentContentChangeEvent], version: int, encoding: Encoding) -> None:
        """Applies the client's edits in order; places past the end of a line or of the text mean that end."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._splice(change.range, change.text, encoding)
            else:
                self._lines = split_lines(change.text)
        self.version = version
        self.revision += 1

    def settled(self, revision: int) -> None:
        """Tells those who wait that the analysis of a revision is over, whether it found out or broke down."""
        self._settled = revision
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def settle(self, seconds: float) -> Analysis | None:
        """Waits for the findings of the text as it is; None if the analysis broke down or takes longer than that."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._settled != self.revision:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append(future)
            try:
                await asyncio.wait_for(future, deadline - loop.time())
            except asyncio.TimeoutError:
                return None
        return self.current_analysis

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

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._by_uri.values()))

    def get(self, uri: str) -> Document | None:
        """The open document of that URI."""
        return self._by_uri.get(uri)

    def open(self, item: types.TextDocumentItem) -> Document:
        """Takes up a document; one that was open already is replaced."""
        document = Document(item)
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

    def uri_of(self, path: str) -> str:
        """The URI of a path that a finding names: spelt as the client spells it where the file is open."""
        document = self._by_path.get(path)
        if document is not None:
            return document.uri
        return path if path.startswith(_SCHEMES) else from_fs_path(path) or path

    def version_of(self, path: str) -> int | None:
        """The version of an open file, or None where the file on disk counts."""
        document = self._by_path.get(path)
        return None if document is None else document.version


def path_of(uri: str) -> str:
    """The name that a document goes by in the analysis: its path, or the URI itself where it has none."""
    return to_fs_path(uri) or uri


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, and a last one without; there is always that last one."""
    lines = _LINE.findall(text)
    if not lines or lines[-1].endswith(("\r", "\n")):
        lines.append("")
    return lines
