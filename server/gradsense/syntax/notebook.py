"""Jupyter notebooks as they lie on disk: reading their code cells, and writing edits back into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gradsense.syntax.edits import TextEdit
from gradsense.syntax.edits import apply_edits as apply_to_text
from gradsense.syntax.source import Cell, Source, SourceError
from gradsense.syntax.spans import Span

_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n"
_GIT_LFS = b"version https://git-lfs"


def read_cells(path: str, data: bytes) -> list[tuple[int, str]]:
    """The Python cells of a notebook as (index among all cells, text); formats 1 to 4.

    Raises SourceError if `data` is no notebook, or one in another language.
    """
    if not data.strip():
        # An editor that creates a notebook leaves it empty until the first save.
        return []
    notebook = _load(path, data)
    language = _language(notebook)
    if not _is_python(language):
        raise SourceError(f"{path} is a notebook in {language}; GradSense reads Python only")
    result: list[tuple[int, str]] = []
    for index, cell in enumerate(_cells(path, notebook)):
        if not isinstance(cell, dict):
            raise SourceError(f"{path} is not a Jupyter notebook: its cell {index} is not an object")
        if cell.get("cell_type") == "code" and _is_python(_cell_language(cell)):
            result.append((index, _text(path, index, cell.get(_source_key(cell), ""))))
    return result


def apply_edits(path: str, data: bytes, edits: Iterable[TextEdit]) -> bytes:
    """Apply edits, in lines of the program that `Source.from_notebook` makes of `data`, to the notebook.

    Only the sources of the cells concerned change; all else keeps its bytes. Raises ValueError if an edit crosses
    cells, touches a magic or overlaps another, and SourceError if `data` is no notebook.
    """
    source = Source.from_notebook(path, data)
    by_cell: dict[int, list[TextEdit]] = {}
    cells = {cell.index: cell for cell in source.cells}
    for edit in edits:
        cell, local = localise(source, edit)
        by_cell.setdefault(cell.index, []).append(local)
    if not by_cell:
        return data
    encoding = json.detect_encoding(data)
    document = data.decode(encoding, "surrogatepass")
    escapes = document.isascii() and "\\u" in document
    places = list(_source_places(document))
    for index in sorted(by_cell, reverse=True):
        begin, end = places[index]
        if begin == end:
            raise ValueError(f"cell {index} of {path} has no source to change")
        changed = apply_to_text(cells[index].text, by_cell[index])
        document = document[:begin] + _written(document[begin:end], changed, escapes) + document[end:]
    return document.encode(encoding, "surrogatepass")


def _load(path: str, data: bytes) -> dict[str, Any]:
    if data.startswith(_GIT_LFS):
        raise SourceError(f"{path} is a Git LFS pointer; fetch the notebook with `git lfs pull`")
    try:
        notebook = json.loads(data)
    except json.JSONDecodeError as error:
        raise SourceError(f"{path} is not a Jupyter notebook: line {error.lineno} is not JSON, {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not a Jupyter notebook: {error}") from None
    if not isinstance(notebook, dict):
        raise SourceError(f"{path} is not a Jupyter notebook: it holds no object")
    return notebook


def _cells(path: str, notebook: dict[str, Any]) -> list[Any]:
    """All cells; up to format 3 they lie in worksheets."""
    groups = [notebook] if "cells" in notebook else notebook.get("worksheets")
    if not isinstance(groups, list):
        raise SourceError(f"{path} is not a Jupyter notebook: it has no cells")
    result: list[Any] = []
    for group in groups:
        cells = group.get("cells", []) if isinstance(group, dict) else None
        if not isinstance(cells, list):
            raise SourceError(f"{path} is not a Jupyter notebook: its cells are not a list")
        result += cells
    return result


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for key, inner in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        name = part.get(inner) if isinstance(part, dict) else None
        if isinstance(name, str) and name:
            return name
    return "python"


def _cell_language(cell: dict[str, Any]) -> str:
    """A cell's own language: formats 1 to 3 name it, and so does VS Code where it is not the notebook's."""
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    name = editor.get("languageId") if isinstance(editor, dict) else cell.get("language")
    return name if isinstance(name, str) else "python"


def _is_python(language: str) -> bool:
    return "python" in language.lower()


def _source_key(cell: dict[str, Any]) -> str:
    return "input" if "input" in cell and "source" not in cell else "source"


def _text(path: str, index: int, source: object) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    raise SourceError(f"{path} is not a Jupyter notebook: the source of its cell {index} is not text")


def localise(source: Source, edit: TextEdit) -> tuple[Cell, TextEdit]:
    """The cell that an edit changes, and the edit in lines of the cell.

    Raises ValueError if it crosses cells or touches a magic.
    """
    span = edit.span
    cell = source.cell_of(span.line)
    if cell is None:
        raise ValueError(f"line {span.line} is in no cell of {source.path}")
    new_text = edit.new_text
    if span.end == (cell.last_line + 1, 0) and span.line <= cell.last_line:
        span, new_text = _within(source, cell, span, new_text)
    if span.end_line > cell.last_line:
        raise ValueError(f"the edit at line {span.line} of {source.path} goes on into another cell")
    local = Span(span.line - cell.first_line + 1, span.column, span.end_line - cell.first_line + 1, span.end_column)
    if source.slice(span) != Source("", cell.text).slice(local):
        raise ValueError(f"the edit at line {span.line} of {source.path} touches a magic")
    if span.line in source.rewrites and span.column and "\n" in new_text:
        raise ValueError(f"the edit at line {span.line} of {source.path} would break the line of a magic")
    return cell, TextEdit(edit.path, local, new_text)


def _within(source: Source, cell: Cell, span: Span, new_text: str) -> tuple[Span, str]:
    """An edit of whole lines up to the next cell's first, as one that ends with its own cell."""
    last = cell.last_line
    line, column = span.start
    if new_text.endswith("\n"):
        new_text = new_text[:-1]
    elif not new_text and column == 0 and line > cell.first_line:
        line -= 1
        column = len(source.lines[line - 1])
    return Span(line, column, last, len(source.lines[last - 1])), new_text


def _source_places(document: str) -> Iterator[tuple[int, int]]:
    """Where in the JSON text each cell's source stands, in the order of `_cells`; an empty place where it has none."""
    top = _members(document, _skip(document, 0))
    groups = (
        [top] if "cells" in top else [_members(document, place) for place, _ in _items(document, top["worksheets"])]
    )
    for group in groups:
        if "cells" not in group:
            continue
        for place, _ in _items(document, group["cells"]):
            members = _members(document, place)
            yield members.get("source") or members.get("input") or (place, place)


def _members(document: str, place: int) -> dict[str, tuple[int, int]]:
    """Where each value of the JSON object at `place` starts and ends."""
    result: dict[str, tuple[int, int]] = {}
    position = _skip(document, place + 1)
    while document[position] != "}":
        key, position = _DECODER.raw_decode(document, position)
        start = _skip(document, _skip(document, position) + 1)
        _, end = _DECODER.raw_decode(document, start)
        result[key] = (start, end)
        position = _skip(document, end)
        if document[position] == ",":
            position = _skip(document, position + 1)
    return result


def _items(document: str, place: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Where each item of the JSON array at `place` starts and ends."""
    position = _skip(document, place[0] + 1)
    while document[position] != "]":
        _, end = _DECODER.raw_decode(document, position)
        yield position, end
        position = _skip(document, end)
        if document[position] == ",":
            position = _skip(document, position + 1)


def _skip(document: str, position: int) -> int:
    while document[position] in _BLANKS:
        position += 1
    return position


def _written(raw: str, text: str, escapes: bool) -> str:
    """`text` as JSON in the form of `raw`, the JSON that stood there: one string, or a list of lines laid out alike.

    Lines that did not change keep their escapes.
    """
    if not raw.startswith("["):
        return json.dumps(text, ensure_ascii=escapes)
    items = list(_items(raw, (0, len(raw))))
    known = {_DECODER.raw_decode(raw, start)[0]: raw[start:end] for start, end in items}
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    if not items:
        return json.dumps(lines, ensure_ascii=escapes)
    opening, closing = raw[: items[0][0]], raw[items[-1][1] :]
    separator = raw[items[0][1] : items[1][0]] if len(items) > 1 else "," + opening[1:]
    if not lines:
        return "[]"
    return (
        opening + separator.join(known.get(line) or json.dumps(line, ensure_ascii=escapes) for line in lines) + closing
    )
