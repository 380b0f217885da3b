"""What the README tells people to put into their editors' settings is right."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from lsp.editor import EMACS, NEOVIM, editing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The block of code in the README that holds some words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (found,) = [text for text in blocks if containing in text]
    return str(found)


def commands() -> dict[str, list[str]]:
    """The command that each editor is told to start."""
    helix = tomllib.loads(block("toml", "language-server"))
    server = helix["language-server"]["gradsense"]
    (language,) = helix["language"]
    assert language["name"] == "python" and language["language-servers"] == ["gradsense"]
    sublime = json.loads(block("json", "clients"))["clients"]["gradsense"]
    assert sublime["enabled"] and sublime["selector"] == "source.python"
    return {
        "sublime": sublime["command"],
        "helix": [server["command"], *server["args"]],
        "neovim": re.findall(r"'([^']+)'", re.findall(r"cmd = \{(.*?)\}", block("lua", "vim.lsp.config"))[0]),
        "emacs": re.findall(r'"([^"]+)"', block("elisp", "eglot-server-programs")),
    }


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("editor", "kind"), [("sublime", NEOVIM), ("helix", NEOVIM), ("neovim", NEOVIM), ("emacs", EMACS)]
)
async def test_the_command_starts_the_server(editor: str, kind: str, tmp_path: Path) -> None:
    program, *arguments = commands()[editor]
    assert program == "gradsense"
    uri = (tmp_path / "train.py").as_uri()
    async with editing(kind, (sys.executable, "-m", "gradsense", *arguments), folder=tmp_path) as client:
        client.open(uri, "import torch\nx = torch.ones(3, requires_grad=True)\nx += 1\n")
        assert [found.code for found in await client.diagnostics(uri)] == ["GS203"]
