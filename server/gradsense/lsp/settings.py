"""The editor's settings, checked key by key: a bad value gives a message, and what held before stays.

What an editor sets goes on top of `[tool.gradsense]` of the project's `pyproject.toml`; what it leaves out, or sets to
null, is left to that file. Names are those of the file in camel case (`showHints` for `show-hints`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradsense.config import Problem, Settings, settings_from

SECTION = "gradsense"
_WHERE = "the editor's settings"
_ENABLE = "enable"
_CLIENT_ONLY = frozenset({"interpreter", "importStrategy", "path", "trace"})
_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")


@dataclass(frozen=True)
class EditorSettings:
    """What the editor says.

    Args:
        enable: whether anything is analysed at all.
        overrides: its settings by their names in `pyproject.toml`, each known to be usable.
    """

    enable: bool = True
    overrides: Mapping[str, Any] = field(default_factory=dict)


def read_settings(value: Any) -> tuple[EditorSettings, tuple[Problem, ...]]:
    """Reads what a client sent, in whichever wrapping: the section itself, or an object that holds it."""
    if isinstance(value, Mapping):
        value = value.get("settings", value)
    if isinstance(value, Mapping):
        value = value.get(SECTION, value)
    if value is None:
        return EditorSettings(), ()
    if not isinstance(value, Mapping):
        return EditorSettings(), (Problem(_WHERE, "they must be an object; the defaults are used"),)
    enable = True
    overrides: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, item in value.items():
        if item is None or key in _CLIENT_ONLY:
            continue
        if key == _ENABLE:
            if isinstance(item, bool):
                enable = item
            else:
                problems.append(Problem(_WHERE, f"`{_ENABLE}` must be true or false; true is used"))
            continue
        name = _HUMP.sub(lambda hump: f"-{hump.group().lower()}", str(key))
        _, found = settings_from({name: item}, Settings(), _WHERE)
        if found:
            problems.extend(Problem(problem.where, problem.message.replace(name, str(key))) for problem in found)
        else:
            overrides[name] = item
    return EditorSettings(enable, overrides), tuple(problems)
