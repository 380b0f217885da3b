"""The extension's manifest says what the server says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gradsense.lsp.settings import KEYS, read_settings

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
WORDS: dict[str, str] = json.loads((ROOT / "package.nls.json").read_text(encoding="utf-8"))
CONTRIBUTES: dict[str, Any] = MANIFEST["contributes"]
# What client/src/settings.ts takes out before the server is told.
CLIENT_ONLY = ("importStrategy", "path", "trace.server", "gutterMarks", "run.inKernel", "run.openReport")


def settings() -> dict[str, Any]:
    groups = CONTRIBUTES["configuration"]
    return {key.removeprefix("gradsense."): value for group in groups for key, value in group["properties"].items()}


def placeholders(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [found for item in value.values() for found in placeholders(item)]
    if isinstance(value, list):
        return [found for item in value for found in placeholders(item)]
    return re.findall(r"^%(.+)%$", value) if isinstance(value, str) else []


def test_every_text_of_the_manifest_is_there_and_every_text_is_used() -> None:
    used = placeholders(MANIFEST)
    assert set(used) == set(WORDS)


def test_the_server_takes_the_defaults_of_all_settings() -> None:
    values = {key: setting["default"] for key, setting in settings().items() if key not in CLIENT_ONLY}
    assert read_settings(values)[1] == ()


@pytest.mark.parametrize(("field", "key"), [(field, key) for field, key in KEYS.items() if field != "trusted"])
def test_the_editors_own_settings_are_in_the_manifest_with_the_servers_defaults(field: str, key: str) -> None:
    setting = settings()[key]
    assert read_settings({key: setting["default"]})[0] == read_settings({})[0], field


def test_settings_that_could_start_a_program_count_only_in_a_trusted_workspace() -> None:
    restricted = set(MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"])
    assert restricted == {
        f"gradsense.{key}" for key in ("interpreter", "importStrategy", "path", "run.args", "run.env", "run.cwd")
    }


def test_commands_in_menus_and_keys_exist() -> None:
    commands = {command["command"] for command in CONTRIBUTES["commands"]}
    named = {entry["command"] for menu in CONTRIBUTES["menus"].values() for entry in menu}
    named |= {binding["command"] for binding in CONTRIBUTES["keybindings"]}
    assert named <= commands


def test_pictures_that_the_manifest_names_exist() -> None:
    steps = [step["media"]["image"] for guide in CONTRIBUTES["walkthroughs"] for step in guide["steps"]]
    for name in (MANIFEST["icon"], *steps):
        assert (ROOT / name).is_file(), name


def test_lock_files_name_no_place_to_download_from() -> None:
    for name in ("package-lock.json", "client/editor/package-lock.json"):
        assert '"resolved"' not in (ROOT / name).read_text(encoding="utf-8"), name
