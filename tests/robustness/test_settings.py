"""Settings of every wrong kind: each is named, none is used, and the others hold."""

from __future__ import annotations

from typing import Any

import pytest

from gradsense.config import _READERS, Settings, settings_from
from gradsense.lsp.settings import KEYS, read_settings

WRONG: list[Any] = [
    5, -1.5, float("nan"), "", "GS301", "\0", "é😀" * 1000, True, None, [], [1], [None], [[]], ["x"], {}, {"a": 1},
    {"a": ["x"]}, {"": []}, [{"a": "b"}], b"bytes", object(),
]  # fmt: skip


@pytest.mark.parametrize("key", _READERS)
def test_a_file_with_values_of_all_kinds(key: str) -> None:
    for value in WRONG:
        table = {key: value, **({"show-hints": True} if key != "show-hints" else {"unsafe-fixes": True})}
        settings, problems = settings_from(table, Settings(), "pyproject.toml")
        assert settings.show_hints or settings.unsafe_fixes
        for problem in problems:
            assert f"`{key}`" in str(problem) and len(str(problem)) < 12_000
            assert getattr(settings, key.replace("-", "_"), None) == getattr(Settings(), key.replace("-", "_"), None)


@pytest.mark.parametrize("key", [*KEYS.values(), *_READERS, "interpreter", "run", "nosuch", "", "a.b.c", "\0"])
def test_an_editor_with_values_of_all_kinds(key: str) -> None:
    for value in WRONG:
        nested: Any = value
        for part in reversed(key.split(".")):
            nested = {part: nested}
        for sent in (nested, {"gradsense": nested}, {"settings": {"gradsense": nested}}, {key: value}):
            settings, problems = read_settings(sent)
            assert isinstance(settings.enable, bool) and isinstance(settings.trusted, bool)
            assert all(str(problem) for problem in problems)


@pytest.mark.parametrize("sent", WRONG, ids=lambda sent: type(sent).__name__)
def test_an_editor_that_sends_no_settings_at_all(sent: object) -> None:
    settings, _ = read_settings(sent)
    assert settings.enable is True
