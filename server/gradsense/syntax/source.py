"""A program's text, where its lines and cells lie, and how its places are counted."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gradsense.syntax import columns
from gradsense.syntax.columns import Encoding
from gradsense.syntax.decoding import decode
from gradsense.syntax.edits import line_starts, split_lines
from gradsense.syntax.spans import Problem, Span

_BOM = "\ufeff"


# The name that parsing puts where an expression could not be read, so its value is not known.
UNKNOWN = "_gradsense_unknown"


class SourceError(Exception):
    """The text cannot be had at all; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell and where it lies in the program.

    `index` counts all cells of the notebook, text cells too; `text` is what the user sees, magics included.
    """

    index: int
    first_line: int
    line_count: int
    text: str

    @property
    def last_line(self) -> int:
        """The program's line that holds the cell's last one."""
        return self.first_line + self.line_count - 1


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What to parse in place of a line; what follows its indentation stands `shift` bytes behind its place in the
    source."""

    text: str
    shift: int = 0


class Source:
    """One program: a file, a buffer or a notebook whose code cells were joined.

    Lines count from 1 and columns from 0 in code points. `text` keeps its newlines; what is not Python in a notebook
    (magics, shell lines, cells in other languages) is blanked, so that every character keeps its line and column.
    """

    def __init__(
        self,
        path: str,
        text: str,
        *,
        cells: tuple[Cell, ...] = (),
        encoding: str = "utf-8",
        bom: bytes = b"",
        problems: tuple[Problem, ...] = (),
        rewrites: Mapping[int, Rewrite] | None = None,
    ) -> None:
        """Prefer the `from_*` constructors; `problems` are what reading the bytes had to report, and `rewrites` (by
        line) what stands for lines with magics."""
        self.path = path
        self.text = text
        self.cells = cells
        self.encoding = encoding
        self.bom = bom
        self.problems = problems
        self.rewrites: Mapping[int, Rewrite] = rewrites or {}
        self._byte_tables: dict[int, list[int]] = {}

    def __repr__(self) -> str:
        return f"Source({self.path!r}, {len(self.text)} characters)"

    @classmethod
    def from_path(cls, path: str | Path) -> Source:
        """Read a script or a notebook; raises SourceError if it cannot be read."""
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise SourceError(f"{path}: no such file") from None
        except IsADirectoryError:
            raise SourceError(f"{path} is a folder; name the files in it") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SourceError(f"cannot read {path}: {reason}") from error
        if str(path).endswith(".ipynb"):
            return cls.from_notebook(str(path), data)
        return cls.from_bytes(str(path), data)

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> Source:
        """Decode a script: byte order mark, then PEP 263 declaration, then UTF-8, then Latin-1 with a problem."""
        decoded = decode(data)
        return cls(path, decoded.text, encoding=decoded.encoding, bom=decoded.bom, problems=decoded.problems)

    @classmethod
    def from_text(cls, path: str, text: str) -> Source:
        """Take text that is decoded already, such as an editor's buffer; a leading byte order mark is dropped."""
        if text.startswith(_BOM):
            return cls(path, text[1:], bom=_BOM.encode())
        return cls(path, text)

    @classmethod
    def from_notebook(cls, path: str, data: bytes) -> Source:
        """Join the code cells of a Jupyter notebook; raises SourceError if it is none, or not in Python."""
        from gradsense.syntax.notebook import read_cells

        return cls.from_cells(path, read_cells(path, data))

    @classmethod
    def from_cells(cls, path: str, cells: Iterable[tuple[int, str]]) -> Source:
        """Join code cells, given as (index in the notebook, text), and blank what is not Python in them."""
        from gradsense.syntax.magics import mask

        parts: list[str] = []
        placed: list[Cell] = []
        rewrites: dict[int, Rewrite] = {}
        first = 1
        for index, text in cells:
            masked = mask(text)
            parts.append(masked.text)
            rewrites.update((first + line, rewrite) for line, rewrite in masked.rewrites.items())
            cell = Cell(index, first, len(split_lines(text)), text)
            placed.append(cell)
            first += cell.line_count
        return cls(path, "\n".join(parts), cells=tuple(placed), rewrites=rewrites)

    def become(self, other: Source) -> None:
        """Takes another text of the same file, so that whoever holds this source sees the file as it is now."""
        path = self.path
        self.__dict__ = dict(vars(other))
        self.path = path

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; text that ends in a newline has an empty last line."""
        return split_lines(self.text)

    @cached_property
    def newline(self) -> str:
        r"""The line end that most lines use; \n where there is none."""
        if "\r" not in self.text:
            return "\n"
        crlf = self.text.count("\r\n")
        counts = {"\n": self.text.count("\n") - crlf, "\r\n": crlf, "\r": self.text.count("\r") - crlf}
        return max(counts, key=counts.__getitem__)

    @cached_property
    def _starts(self) -> list[int]:
        return line_starts(self.text)

    @cached_property
    def _cell_starts(self) -> list[int]:
        return [cell.first_line for cell in self.cells]

    def encode(self, text: str) -> bytes:
        """Bytes of an edited `text` for this source's file; raises SourceError if its encoding lacks a character."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            char = text[error.start]
            raise SourceError(f"{self.path} is {self.encoding}, which cannot hold {char!r}; save it as UTF-8") from None

    def span_of(self, node: ast.AST) -> Span:
        """Where `node` of this source's tree lies; clamped to the text. Raises ValueError for a node without a place,
        such as an operator."""
        if isinstance(node, ast.Module):
            last = len(self.lines)
            return Span(1, 0, last, len(self.lines[-1]))
        line: int | None = getattr(node, "lineno", None)
        if line is None:
            raise ValueError(f"a node of type {type(node).__name__} has no place in the text")
        byte: int = getattr(node, "col_offset", 0)
        end_line: int | None = getattr(node, "end_lineno", None)
        end_byte: int | None = getattr(node, "end_col_offset", None)
        if end_line is None or end_byte is None:
            end_line, end_byte = line, byte
        count = len(self.lines)
        line = min(max(line, 1), count)
        end_line = min(max(end_line, line), count)
        column = self.column_of_byte(line, byte)
        end_column = self.column_of_byte(end_line, end_byte)
        if end_line == line and end_column < column:
            end_column = column
        return Span(line, column, end_line, end_column)

    def column_of_byte(self, line: int, byte: int) -> int:
        """Code-point column of UTF-8 offset `byte` in `line`, clamped to the line."""
        text = self.lines[line - 1]
        if text.isascii():
            return max(0, min(byte, len(text)))
        table = self._byte_tables.get(line)
        if table is None:
            table = self._byte_tables[line] = columns.byte_offsets(text)
        return columns.column_at(table, byte)

    def encode_column(self, line: int, column: int, encoding: Encoding) -> int:
        """Code-point `column` of `line` in the units of `encoding`."""
        return columns.encode_column(self._line(line), column, encoding)

    def decode_column(self, line: int, units: int, encoding: Encoding) -> int:
        """Code-point column of a column that an editor counted in the units of `encoding`."""
        return columns.decode_column(self._line(line), units, encoding)

    def to_utf16(self, line: int, column: int) -> int:
        """Code-point `column` of `line` in UTF-16 units."""
        return self.encode_column(line, column, "utf-16")

    def from_utf16(self, line: int, units: int) -> int:
        """Code-point column of UTF-16 column `units` in `line`."""
        return self.decode_column(line, units, "utf-16")

    def _line(self, line: int) -> str:
        return self.lines[line - 1] if 1 <= line <= len(self.lines) else ""

    def offset(self, line: int, column: int) -> int:
        """Index into `text` of a place, clamped to the line and to the text."""
        if line < 1:
            return 0
        if line > len(self.lines):
            return len(self.text)
        return self._starts[line - 1] + max(0, min(column, len(self.lines[line - 1])))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an index into `text`; one inside a line end means the line's end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset)
        return line, min(offset - self._starts[line - 1], len(self.lines[line - 1]))

    def slice(self, span: Span) -> str:
        """The text of `span`."""
        return self.text[self.offset(*span.start) : self.offset(*span.end)]

    def cell_of(self, line: int) -> Cell | None:
        """The notebook cell that holds the program's `line`."""
        position = bisect_right(self._cell_starts, line) - 1
        if position < 0 or line > self.cells[position].last_line:
            return None
        return self.cells[position]

    def cell_at(self, line: int) -> tuple[int, int] | None:
        """The cell's index in the notebook and the line within it, from 1; None outside of notebooks."""
        cell = self.cell_of(line)
        return None if cell is None else (cell.index, line - cell.first_line + 1)

    def line_in_program(self, index: int, line: int) -> int | None:
        """The inverse of `cell_at`; None if there is no such cell or line."""
        for cell in self.cells:
            if cell.index == index:
                return cell.first_line + line - 1 if 1 <= line <= cell.line_count else None
        return None
