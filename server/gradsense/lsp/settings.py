"""The editor's settings, checked key by key: a bad value gives a message, and what held before stays.

What an editor sets goes on top of `[tool.gradsense]` of the project's `pyproject.toml`; what it leaves out, or sets to
null, is left to that file. Names are those of the file in camel case (`showHints` for `show-hints`). Some are the
editor's alone: those are the fields of `EditorSettings`, under the names in `KEYS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from gradsense import setting_values
from gradsense.config import Problem, Settings, settings_from
from gradsense.run.settings import read_table

SECTION = "gradsense"

DiagnosticMode = Literal["openFilesOnly", "workspace"]

_WHERE = "the editor's settings"
_GROUPS = frozenset({"inlayHints", "codeLens", "run"})
_CLIENT_ONLY = frozenset({"importStrategy", "path", "trace"})
_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")


@dataclass(frozen=True)
class EditorSettings:
    """What the editor says.

    Args:
        enable: whether anything is analysed at all.
        trusted: whether what is in the workspace may be run when the person asks, and its Python be asked about types.
        diagnostic_mode: what findings are shown of: `openFilesOnly`, or `workspace` for all of its files.
        inlay_hints: whether short texts behind lines say what needs grad, and what grows.
        code_lens: whether a line over training loops and cells offers to run them.
        max_file_size: how many megabytes a file may have; a larger one is left alone.
        overrides: its settings by their names in `pyproject.toml`, each known to be usable.
        run: those of runs, by the names of `RunSettings`.
    """

    enable: bool = True
    trusted: bool = True
    diagnostic_mode: DiagnosticMode = "openFilesOnly"
    inlay_hints: bool = False
    code_lens: bool = True
    max_file_size: float = 5.0
    overrides: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def most_bytes(self) -> float:
        """How many characters a file may have, near enough."""
        return self.max_file_size * 1e6


def _mode(value: Any) -> DiagnosticMode:
    if value not in get_args(DiagnosticMode):
        raise ValueError(f"must be {' or '.join(get_args(DiagnosticMode))}")
    mode: DiagnosticMode = value
    return mode


def _megabytes(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("must be a number of megabytes above 0")
    return float(value)


KEYS = {
    "enable": "enable",
    "trusted": "trusted",
    "diagnostic_mode": "diagnosticMode",
    "inlay_hints": "inlayHints.enabled",
    "code_lens": "codeLens.enabled",
    "max_file_size": "maxFileSize",
}
"""What the editor's own settings are called there, by field."""

_READERS: dict[str, Callable[[Any], Any]] = {
    "enable": setting_values.flag,
    "trusted": setting_values.flag,
    "diagnostic_mode": _mode,
    "inlay_hints": setting_values.flag,
    "code_lens": setting_values.flag,
    "max_file_size": _megabytes,
}
_FIELDS = {key: name for name, key in KEYS.items()}
_DEFAULTS = {one.name: one.default for one in fields(EditorSettings)}
# What is meant by a value that cannot be read: whoever wrote something else than yes about trust did not mean yes.
_INSTEAD = {**_DEFAULTS, "trusted": False}


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
    own: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    run: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, item in _flattened(value):
        if key in _FIELDS:
            name = _FIELDS[key]
            try:
                own[name] = _READERS[name](item)
            except ValueError as error:
                own[name] = _INSTEAD[name]
                problems.append(Problem(_WHERE, f"`{key}` {error}; {_spoken(_INSTEAD[name])} is used"))
        elif key == "interpreter" or key.startswith("run."):
            try:
                run.update(read_table({_in_file(key.removeprefix("run.")): item}))
            except ValueError as error:
                problems.append(Problem(_WHERE, f"`{key}`: the table {error}; it is ignored"))
        else:
            name = _in_file(key)
            _, found = settings_from({name: item}, Settings(), _WHERE)
            problems.extend(Problem(problem.where, problem.message.replace(name, key)) for problem in found)
            if not found:
                overrides[name] = item
    return EditorSettings(**own, overrides=overrides, run=run), tuple(problems)


def _flattened(value: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting that is set with its whole name; groups may be objects, or names with dots."""
    for key, item in value.items():
        name = f"{prefix}{key}"
        if not prefix and name in _GROUPS and isinstance(item, Mapping):
            yield from _flattened(item, f"{name}.")
        elif item is not None and name.partition(".")[0] not in _CLIENT_ONLY:
            yield name, item


def _in_file(key: str) -> str:
    return _HUMP.sub(lambda hump: f"-{hump.group().lower()}", key)


def _spoken(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
