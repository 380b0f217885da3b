"""Silencing a rule in a whole file, and in a whole project."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gradsense.config import CONFIG_NAME, load_settings
from gradsense.lsp.buffer import edits_between
from gradsense.lsp.held import Held
from gradsense.lsp.messages import EditView, Place, ProjectEdit
from gradsense.syntax import Source, Span, TextEdit
from gradsense.syntax.columns import encode_column
from gradsense.syntax.edits import split_lines
from gradsense.syntax.suppressions import Suppressions

_PREAMBLE = re.compile(r"#!|[ \t\f]*#.*?coding[:=]|%%")


def ignore_in_file(held: Held, line: int, code: str) -> tuple[TextEdit, ...] | None:
    """Adds `# gradsense: ignore-file[CODE]` to the top of a file, or of a cell, or the code to the comment there.

    Args:
        line: where the finding is.

    Returns:
        None where a comment hides the code there already.
    """
    source = held.source
    found = Suppressions.of(source)
    if any(item.whole_file and (not item.codes or code in item.codes) for item in found.items):
        return None
    cell = source.cell_of(line)
    for item in found.items:
        if item.whole_file and source.cell_of(item.span.line) == cell:
            text = f"# gradsense: ignore-file[{', '.join([*item.codes, code])}]"
            return (TextEdit(source.path, item.span, text),)
    first = 1 if cell is None else cell.first_line
    lines = source.lines if cell is None else split_lines(cell.text)
    skipped = 0
    while skipped < min(2, len(lines) - 1) and _PREAMBLE.match(lines[skipped]):
        skipped += 1
    place = first + skipped
    return (TextEdit(source.path, Span(place, 0, place, 0), f"# gradsense: ignore-file[{code}]{source.newline}"),)


def ignore_in_project(held: Held, code: str, open_texts: Mapping[str, str]) -> ProjectEdit | None:
    """Adds a code to `ignore` in the project's `pyproject.toml`: the one whose settings hold, else that of the folder.

    Args:
        open_texts: the texts of those that are open, by path.

    Returns:
        None where there is no folder for it, or it is not valid TOML.
    """
    folder = os.path.dirname(held.request.path)
    if not os.path.isabs(folder):
        return None
    path = str(load_settings(folder).path or os.path.join(held.request.root or folder, CONFIG_NAME))
    text = open_texts.get(path)
    exists = text is not None or os.path.exists(path)
    try:
        if text is None:
            text = Source.from_path(path).text if exists else ""
        after = _with_code(text, code)
    except (TOMLKitError, TypeError, ValueError, OSError):
        return None
    lines = split_lines(text)
    edits = []
    for edit in edits_between(path, text, after):
        span = edit.span
        start = encode_column(lines[span.line - 1], span.column, held.request.encoding)
        end = encode_column(lines[span.end_line - 1], span.end_column, held.request.encoding)
        edits.append(EditView(path, Place(span.line - 1, start, span.end_line - 1, end), edit.new_text))
    return ProjectEdit(path, not exists, tuple(edits)) if edits else None


def _with_code(text: str, code: str) -> str:
    document = tomlkit.parse(text)
    section = document.get("tool", {}).get("gradsense")
    if section is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f'{text}{gap}[tool.gradsense]\nignore = ["{code}"]\n'
    if "ignore" not in section:
        section["ignore"] = [code]
    elif code not in section["ignore"]:
        section["ignore"].append(code)
    return tomlkit.dumps(document)
