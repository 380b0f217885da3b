"""The editor's settings: where they come from, and what becomes of bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from gradsense.lsp.settings import EditorSettings, read_settings
from lsp.editor import NEOVIM, VS_CODE, Editor, editing

URI = "file:///work/train.py"


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"gradsense": s}, lambda s: {"settings": s}])
def test_names_are_those_of_the_file_in_camel_case(wrap: Any) -> None:
    value = {"enable": False, "showHints": True, "ignore": ["GS210"], "select": None}
    settings, problems = read_settings(wrap(value))
    assert settings == EditorSettings(False, overrides={"show-hints": True, "ignore": ["GS210"]})
    assert not problems


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"enable": "yes"}, "`enable` must be true or false"),
        ({"showHints": 1}, "`showHints` must be true or false"),
        ({"ignore": "GS210"}, "`ignore` must be a list"),
        ({"select": ["XX1"]}, "`XX1`"),
        ({"showHint": True}, "unknown setting `showHint`"),
        ([1], "must be an object"),
        ({"diagnosticMode": "all"}, "`diagnosticMode` must be openFilesOnly or workspace; openFilesOnly is used"),
        ({"inlayHints": {"enabled": 1}}, "`inlayHints.enabled` must be true or false; false is used"),
        ({"maxFileSize": -1}, "`maxFileSize` must be a number of megabytes above 0; 5.0 is used"),
        ({"run": {"passes": 0}}, "`run.passes`"),
        ({"run.device": "toaster"}, "must be auto, cpu, cuda"),
        ({"run": {"turbo": True}}, "unknown setting `turbo`"),
    ],
)
def test_a_bad_value_is_reported_and_left_out(value: Any, words: str) -> None:
    settings, (problem,) = read_settings(value)
    assert settings == EditorSettings()
    assert words in str(problem)


def test_settings_of_the_editor_alone_and_of_runs() -> None:
    value = {
        "trusted": False,
        "diagnosticMode": "workspace",
        "inlayHints": {"enabled": True},
        "codeLens.enabled": False,
        "maxFileSize": 2,
        "interpreter": ["/usr/bin/python3"],
        "run": {"passes": 2, "timeLimit": 5, "device": "cpu", "cwd": None},
        "trace": {"server": "verbose"},
    }
    settings, problems = read_settings(value)
    assert not problems
    assert settings == EditorSettings(
        trusted=False,
        diagnostic_mode="workspace",
        inlay_hints=True,
        code_lens=False,
        max_file_size=2.0,
        run={"interpreter": "/usr/bin/python3", "passes": 2, "time_limit": 5.0, "device": "cpu"},
    )


def test_nothing_is_fine() -> None:
    assert read_settings(None) == (EditorSettings(), ())


async def shown(editor: Editor) -> list[str]:
    await editor.barrier()
    return [message.message for message in editor.client.messages]


@pytest.mark.asyncio
async def test_initialization_options_hold_from_the_first_diagnostics() -> None:
    async with editing(NEOVIM, options={"showHints": False, "ignore": 7}) as editor:
        editor.open(URI, "BAD EXTRA")
        assert [found.code for found in await editor.diagnostics(URI)] == ["GS201"]
        (message,) = await shown(editor)
        assert "`ignore` must be a list" in message


@pytest.mark.asyncio
async def test_the_client_is_asked_when_it_can_answer(tmp_path: Path) -> None:
    inside = (tmp_path / "train.py").as_uri()
    async with editing(VS_CODE, folder=tmp_path) as editor:
        editor.open(URI, "BAD EXTRA")
        editor.open(inside, "BAD EXTRA")
        assert len(await editor.diagnostics(URI)) == len(await editor.diagnostics(inside)) == 2
        editor.client.set_configuration({"showHints": False}, section="gradsense", scope_uri=tmp_path.as_uri())
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        assert len(await editor.diagnostics(inside)) == 1
        editor.client.set_configuration({"enable": False}, section="gradsense")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        assert await editor.diagnostics(URI) == []


@pytest.mark.asyncio
async def test_a_client_that_cannot_be_asked_tells() -> None:
    async with editing(capabilities=types.ClientCapabilities()) as editor:
        editor.open(URI, "BAD EXTRA")
        assert len(await editor.diagnostics(URI)) == 2
        told = {"gradsense": {"showHints": False, "enable": 3}}
        for _ in range(2):
            editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=told))
        assert len(await editor.diagnostics(URI)) == 1
        assert len(await shown(editor)) == 1, "the same complaint is made once"


def test_trust_that_cannot_be_read_is_no_trust() -> None:
    settings, problems = read_settings({"trusted": "perhaps"})
    assert not settings.trusted
    assert len(problems) == 1 and "false is used" in str(problems[0])
