"""The page of all settings, from the classes that hold them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from documenting.head import HEAD
from gradsense.config import _READERS, Settings
from gradsense.lsp.settings import EditorSettings

KINDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple[str, ...]: "a list of strings",
    Mapping[str, tuple[str, ...]]: "a table: a pattern, and a list of codes",
    Mapping[str, str]: "a table of strings",
}


def page() -> str:
    """The whole page."""
    keys = {key.replace("-", "_"): key for key in _READERS}
    own = [_row(Settings, field, keys[field.name]) for field in dataclasses.fields(Settings) if field.name in keys]
    fields = [field for field in dataclasses.fields(EditorSettings) if field.name != "overrides"]
    editor = [_row(EditorSettings, field, _camel(field.name)) for field in fields]
    return HEAD + _PAGE.strip().format(file=_table(own), editor=_table(editor)) + "\n"


def _table(rows: list[str]) -> str:
    return "| key | value | default | what it does |\n| - | - | - | - |\n" + "\n".join(rows)


def _row(owner: type, field: dataclasses.Field[Any], key: str) -> str:
    cells = (f"`{key}`", _kind(owner, field.name), _default(field), _described(owner)[field.name])
    row = " | ".join(cell.replace("|", r"\|") for cell in cells)
    return f"| {row} |"


def _kind(owner: type, name: str) -> str:
    annotated = typing.get_type_hints(owner)[name]
    if isinstance(annotated, types.UnionType):
        return " or ".join(KINDS[part] for part in typing.get_args(annotated) if part is not types.NoneType)
    return KINDS[annotated]


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default if field.default is not dataclasses.MISSING else field.default_factory()  # type: ignore[misc]
    if value is None:
        return "none"
    if isinstance(value, tuple):
        value = list(value)
    return f"`{json.dumps(value) if not isinstance(value, Mapping) else '{}'}`"


def _described(kind: type) -> dict[str, str]:
    """What the docstring says of each argument."""
    text = inspect.getdoc(kind) or ""
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", arguments, re.MULTILINE | re.DOTALL)
    return {name: _sentence(" ".join(says.split())) for name, says in found}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


_PAGE = Path(__file__).with_name("settings.md").read_text(encoding="utf-8")
