"""The settings: what `[tool.gradsense]` in a `pyproject.toml` says, checked key by key.

The command line and the language server read the same table; what they are told more directly (an option, an editor's
setting) goes on top of it with `settings_from`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gradsense import setting_values
from gradsense.run.settings import read_table

CONFIG_NAME = "pyproject.toml"
SECTION = "tool.gradsense"
EVERYTHING = "ALL"

DEFAULT_INCLUDE = ("*.py", "*.ipynb")
DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)

_SELECTOR = re.compile(r"GS[0-9]{0,3}")


@dataclass(frozen=True)
class Settings:
    """What is reported, and in which files.

    Args:
        select: codes or prefixes of codes that are reported (`GS2`, `GS301`, `ALL`).
        ignore: codes or prefixes that are not; where both match a code, the longer one decides, then `ignore`.
        per_file_ignores: more to ignore in the files that a pattern matches.
        include: patterns of the files that a folder is searched for.
        exclude: patterns of files and folders that a search passes by.
        extend_exclude: more of them, without giving up the usual ones.
        respect_gitignore: whether a search passes by what `.gitignore` names.
        show_hints: whether hints are reported.
        unsafe_fixes: whether fixes that may change results are applied with the safe ones.
        run: how a step is run, by the names of `RunSettings`.
        root: the folder that patterns are relative to; None for the current folder.
    """

    select: tuple[str, ...] = (EVERYTHING,)
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    include: tuple[str, ...] = DEFAULT_INCLUDE
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    show_hints: bool = False
    unsafe_fixes: bool = False
    run: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None

    @property
    def excluded(self) -> tuple[str, ...]:
        """All patterns that a search passes by."""
        return (*self.exclude, *self.extend_exclude)


@dataclass(frozen=True)
class Problem:
    """A setting that could not be used, and where it stands."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Loaded:
    """Settings, the file they came from if there was one, and what was wrong with it."""

    settings: Settings
    path: Path | None = None
    problems: tuple[Problem, ...] = ()


class ConfigError(Exception):
    """A settings file that was asked for by name cannot be used; the message says why."""


def load_settings(start: Path | str) -> Loaded:
    """Reads the settings that hold for a file or folder.

    They are those of the nearest `pyproject.toml`, from there upwards, that has a `[tool.gradsense]` table. A file that
    is not valid TOML ends the search: it may have meant to hold the table, and one further up is not meant.
    """
    start = Path(start).absolute()
    for folder in (start, *start.parents):
        path = folder / CONFIG_NAME
        if not path.is_file():
            continue
        try:
            table = _section(path)
        except ConfigError as error:
            return Loaded(Settings(), path, (Problem(str(path), f"{error}; the default settings are used"),))
        if table is not None:
            return _from_file(path, table)
    return Loaded(Settings())


def load_file(path: Path | str) -> Loaded:
    """Reads the settings of one file named by the user.

    Raises:
        ConfigError: it cannot be read, is not TOML, or has no `[tool.gradsense]` table.
    """
    path = Path(path)
    try:
        table = _section(path)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if table is None:
        raise ConfigError(f"{path}: it has no [{SECTION}] table")
    return _from_file(path.absolute(), table)


def settings_from(table: Mapping[str, Any], base: Settings, where: str) -> tuple[Settings, tuple[Problem, ...]]:
    """Puts the keys of a table on top of settings; a bad value is reported and leaves what was there.

    Args:
        table: keys as they are written in `pyproject.toml`.
        base: what holds for the keys that the table lacks.
        where: the name of the table's home, for the messages.
    """
    changes: dict[str, Any] = {}
    problems = []
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            problems.append(Problem(where, f"unknown setting `{key}`{_suggestion(key)}; it is ignored"))
            continue
        try:
            changes[key.replace("-", "_")] = reader(value)
        except ValueError as error:
            problems.append(Problem(where, f"`{key}` {error}; it is ignored"))
    return replace(base, **changes), tuple(problems)


def as_selector(text: str) -> str:
    """Checks one entry of `select` or `ignore`, in any letter case.

    Raises:
        ValueError: it has not the form of a code, of the beginning of one, or of `ALL`.
    """
    selector = text.strip().upper()
    if selector != EVERYTHING and not _SELECTOR.fullmatch(selector):
        raise ValueError(f"has `{text}`, which is no code such as GS201, beginning of one such as GS2, or ALL")
    return selector


def selected(code: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    """Whether a code is reported: of the entries that match, the longest decides; `ignore` where both are as long."""
    return _longest_match(code, select) > _longest_match(code, ignore)


def _longest_match(code: str, selectors: tuple[str, ...]) -> int:
    """The length of the longest entry that matches; 0 where only `ALL` does, -1 where none does."""
    return max(
        (0 if s == EVERYTHING else len(s) for s in selectors if s == EVERYTHING or code.startswith(s)), default=-1
    )


def _from_file(path: Path, table: Mapping[str, Any]) -> Loaded:
    settings, problems = settings_from(table, Settings(root=path.parent), f"{path} [{SECTION}]")
    return Loaded(settings, path, problems)


def _section(path: Path) -> Mapping[str, Any] | None:
    """The `[tool.gradsense]` table of a file, or None where it has none.

    Raises:
        ConfigError: the file cannot be read or is not TOML, or what bears the name is not a table.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError("it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"it is not valid TOML: {error}") from None
    for part in SECTION.split("."):
        if not isinstance(document, dict):
            raise ConfigError(f"[{SECTION}] is not a table")
        if part not in document:
            return None
        document = document[part]
    if not isinstance(document, dict):
        raise ConfigError(f"[{SECTION}] is not a table")
    return document


def _suggestion(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("_", "-"), _READERS, n=1)
    return f" (did you mean `{near[0]}`?)" if near else ""


def _selectors(value: Any) -> tuple[str, ...]:
    return tuple(as_selector(item) for item in setting_values.strings(value))


def _selectors_by_pattern(value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("must be a table of patterns, each with a list of codes")
    return {str(pattern): _selectors(codes) for pattern, codes in value.items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    "select": _selectors,
    "ignore": _selectors,
    "per-file-ignores": _selectors_by_pattern,
    "include": setting_values.strings,
    "exclude": setting_values.strings,
    "extend-exclude": setting_values.strings,
    "respect-gitignore": setting_values.flag,
    "show-hints": setting_values.flag,
    "unsafe-fixes": setting_values.flag,
    "run": read_table,
}
