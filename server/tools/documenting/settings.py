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
from gradsense import config
from gradsense.config import Settings
from gradsense.lsp.settings import KEYS, EditorSettings
from gradsense.run.settings import RunSettings

KINDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple[str, ...]: "a list of strings",
    Mapping[str, tuple[str, ...]]: "a table: a pattern, and a list of codes",
    Mapping[str, str]: "a table of strings",
    dict[str, str]: "a table of strings",
}


def page() -> str:
    """The whole page."""
    own = {key.replace("-", "_"): key for key in config._READERS}
    tables = {
        "file": _table(Settings, {name: key for name, key in own.items() if name != "run"}),
        "run": _table(RunSettings, {f.name: f.name.replace("_", "-") for f in dataclasses.fields(RunSettings)}),
        "editor": _table(EditorSettings, KEYS),
        "where": "in `[tool.gradsense.run]`" if "run" in own else "under `gradsense.run` in an editor's settings",
    }
    text = Path(__file__).with_name("settings.md").read_text(encoding="utf-8")
    return HEAD + text.strip().format(**tables) + "\n"


def _table(owner: type, keys: Mapping[str, str]) -> str:
    described, kinds = _described(owner), typing.get_type_hints(owner)
    rows = []
    for field in dataclasses.fields(owner):
        if field.name in keys:
            cells = (f"`{keys[field.name]}`", _kind(kinds[field.name]), _default(field), described[field.name])
            rows.append(" | ".join(cell.replace("|", r"\|") for cell in cells))
    return "| key | value | default | what it does |\n| - | - | - | - |\n" + "\n".join(f"| {row} |" for row in rows)


def _kind(annotated: object) -> str:
    if typing.get_origin(annotated) is typing.Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(annotated))
    if isinstance(annotated, types.UnionType):
        return " or ".join(_kind(part) for part in typing.get_args(annotated) if part is not types.NoneType)
    return KINDS[annotated]


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default if field.default is not dataclasses.MISSING else field.default_factory()  # type: ignore[misc]
    if value is None:
        return "none"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _described(kind: type) -> dict[str, str]:
    """What the docstring says of each argument; several may share a line."""
    text = inspect.getdoc(kind) or ""
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w[\w, ]*): (.*?)(?=^ {4}\w[\w, ]*: |\Z)", arguments, re.MULTILINE | re.DOTALL)
    return {name: _sentence(" ".join(says.split())) for names, says in found for name in names.split(", ")}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
