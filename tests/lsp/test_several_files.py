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
        await until(editor, train, found=False)
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
        await until(editor, train, found=False)
        for activation, found in ((BAD, True), (FINE, False)):
            write(tmp_path, activation)
            change = types.FileEvent((tmp_path / "models.py").as_uri(), types.FileChangeType.Changed)
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            await until(editor, train, found=found)
