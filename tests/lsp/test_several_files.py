"""A model, a helper and a training loop in three files work as one program, and follow each other's changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from lsp.editor import REAL, Editor, editing

MODELS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return ACTIVATION(self.fc(x))
"""
UTILS = """\
def add(out, residual):
    return out.add_(residual)
"""
TRAIN = """\
import torch
from models import Net
from utils import add

net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(5, 4, 3):
    opt.zero_grad()
    h = net(x)
    add(h, x).sum().backward()
    opt.step()
"""
FINE, BAD = "(lambda t: t)", "torch.sigmoid"


def write(folder: Path, activation: str) -> None:
    """Puts the program on disk."""
    (folder / "models.py").write_text(MODELS.replace("ACTIVATION", activation))
    (folder / "utils.py").write_text(UTILS)
    (folder / "train.py").write_text(TRAIN)


async def until(editor: Editor, uri: str, *, found: bool) -> None:
    """Waits until the write in place is, or is no longer, among the findings of a file."""
    while any(one.code == "GS201" for one in await editor.diagnostics(uri, 60)) is not found:
        pass


@pytest.mark.asyncio
async def test_typing_in_one_changes_the_findings_of_another(tmp_path: Path) -> None:
    write(tmp_path, FINE)
    async with editing(command=REAL, folder=tmp_path) as editor:
        for name in ("train.py", "utils.py", "models.py"):
            editor.open((tmp_path / name).as_uri(), (tmp_path / name).read_text())
        models, train = (tmp_path / "models.py").as_uri(), (tmp_path / "train.py").as_uri()
        await editor.hover(train, 0, 0)
        assert not any(params.diagnostics for params in editor.published)
        editor.rewrite(models, MODELS.replace("ACTIVATION", BAD))
        await until(editor, train, found=True)
        editor.rewrite(models, MODELS.replace("ACTIVATION", FINE))
        await until(editor, train, found=False)


@pytest.mark.asyncio
async def test_a_file_that_changes_on_disk_changes_the_findings_of_the_one_that_is_open(tmp_path: Path) -> None:
    write(tmp_path, FINE)
    async with editing(command=REAL, folder=tmp_path) as editor:
        train = (tmp_path / "train.py").as_uri()
        editor.open(train, TRAIN)
        await editor.hover(train, 0, 0)
        assert not any(params.diagnostics for params in editor.published)
        for activation, found in ((BAD, True), (FINE, False)):
            write(tmp_path, activation)
            change = types.FileEvent((tmp_path / "models.py").as_uri(), types.FileChangeType.Changed)
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            await until(editor, train, found=found)


@pytest.mark.asyncio
async def test_a_fault_in_another_file_is_shown_where_the_open_one_leads_to_it(tmp_path: Path) -> None:
    write(tmp_path, BAD)
    utils = tmp_path / "utils.py"
    async with editing(command=REAL, folder=tmp_path) as editor:
        train = (tmp_path / "train.py").as_uri()
        editor.open(train, TRAIN)
        [found] = await editor.diagnostics(train, 60)
        assert found.range.start.line == TRAIN.split("\n").index("    add(h, x).sum().backward()")
        assert "(utils.py line 2)" in found.message
        assert found.related_information[0].location.uri == utils.as_uri()
        [fix, *_] = [one for one in await editor.actions(train, found.range, [found]) if one.kind == "quickfix"]
        edit = await editor.edit_of(fix)
        assert edit.document_changes and edit.document_changes[0].text_document.uri == utils.as_uri()
        utils.write_text(UTILS.replace("(residual)", "(residual)  # gradsense: ignore[GS201]"))
        change = types.FileEvent(utils.as_uri(), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
        await until(editor, train, found=False)


@pytest.mark.asyncio
async def test_a_file_whose_names_nobody_asks_for_begins_to_do_something(tmp_path: Path) -> None:
    """It only defined things, and was not run; then its module level writes a weight between forward and walk."""
    parts = "from torch import nn\nnet = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
    reset = "import torch\nfrom parts import net\n"
    train = "import torch\nfrom parts import net\nloss = net(torch.randn(4, 3)).sum()\nimport reset\nloss.backward()\n"
    for name, text in {"parts": parts, "reset": reset, "train": train}.items():
        (tmp_path / f"{name}.py").write_text(text)
    async with editing(command=REAL, folder=tmp_path) as editor:
        for name in ("reset.py", "train.py"):
            editor.open((tmp_path / name).as_uri(), (tmp_path / name).read_text())
        uris = [(tmp_path / name).as_uri() for name in ("reset.py", "train.py")]
        await editor.hover(uris[1], 0, 0)
        assert not any(params.diagnostics for params in editor.published)
        editor.rewrite(uris[0], reset + "with torch.no_grad():\n    net[2].weight.zero_()\n")
        # What another file does wrong to this program is told where this one has a part in it.
        while not any(one.code == "GS205" for one in await editor.diagnostics(uris[1], 60)):
            pass
        editor.rewrite(uris[0], reset)
        while any(one.code == "GS205" for one in await editor.diagnostics(uris[1], 60)):
            pass
