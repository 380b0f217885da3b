"""Files with their bytes, so that they can be mended and written back as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradsense.syntax import Source, SourceError, TextEdit, apply_edits

NOTEBOOK = ".ipynb"


@dataclass(frozen=True)
class File:
    """A file's bytes, and what is read from them."""

    data: bytes
    source: Source

    @classmethod
    def of(cls, path: str, data: bytes) -> File:
        """Reads bytes as a notebook or a script, by the name.

        Raises:
            SourceError: they are no program.
        """
        source = (Source.from_notebook if path.endswith(NOTEBOOK) else Source.from_bytes)(path, data)
        if b"\0" in data and source.encoding == "latin-1":
            raise SourceError(f"{path} is not a text file")
        return cls(data, source)

    @classmethod
    def read(cls, path: str) -> File:
        """Reads a file.

        Raises:
            SourceError: it cannot be read, or is no program.
        """
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise SourceError(f"{path}: no such file or folder") from None
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror or error}") from None
        return cls.of(path, data)

    def edited(self, edits: Sequence[TextEdit]) -> File:
        """The file after edits in terms of its source; encoding, byte order mark and line ends stay as they are.

        Raises:
            SourceError: the encoding lacks a character of the new text.
            ValueError: the edits overlap or leave the text.
        """
        path = self.source.path
        if path.endswith(NOTEBOOK):
            from gradsense.syntax.notebook import apply_edits as apply_to_notebook

            return File.of(path, apply_to_notebook(path, self.data, edits))
        newline = self.source.newline
        edits = [replace(edit, new_text=with_newline(edit.new_text, newline)) for edit in edits]
        return File.of(path, self.source.encode(apply_edits(self.source.text, edits)))


Files = dict[str, File]


def with_newline(text: str, newline: str) -> str:
    """Text with the line ends of the file that it goes into."""
    return text if newline == "\n" else text.replace("\r\n", "\n").replace("\n", newline)
