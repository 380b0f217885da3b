"""End to end: an editor opens a training script with three faults, shows them, mends them, and torch runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from lsp.editor import NEOVIM, REAL, VS_CODE, Editor, editing
from lsp.test_neovim import drive
from lsp.test_neovim import pytestmark as needs_neovim
from oracle import Oracle

SCRIPT = """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        gate = torch.sigmoid(self.inner(x))
        note = "😀 épatant"; gate += 1.0  # a gate that never closes
        return self.head(gate)


def pretrain():
    model = Gate()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(2, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_on_sequence():
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for step in range(4):
        hidden = cell(torch.randn(2, 4), hidden)
        loss = head(hidden).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def finetune():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for step in range(4):
        loss = model(torch.randn(2, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    print(f"{float(total):.4f}")


if __name__ == "__main__":
    pretrain()
    train_on_sequence()
    finetune()
"""

FAULTS = {"GS102", "GS201", "GS301"}


def test_the_script_fails_as_it_stands(torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run(SCRIPT)
    assert outcome.kind == "raises" and "modified by an inplace operation" in outcome.message


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("kind", "encodings"), [(VS_CODE, None), (NEOVIM, None), (NEOVIM, ["utf-32"])], ids=["vscode", "neovim", "utf-32"]
)
async def test_see_mend_and_run(kind: str, encodings: list[str] | None, tmp_path: Path, torch_oracle: Oracle) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    uri = file.as_uri()
    async with editing(kind, REAL, encodings, folder=tmp_path) as editor:
        editor.open(uri, SCRIPT)
        found = await editor.diagnostics(uri)
        assert {one.code for one in found} == FAULTS
        assert len(found) == 3
        by_code = {str(one.code): one for one in found}
        assert editor.covered(uri, by_code["GS201"].range) == "gate += 1.0"
        assert by_code["GS201"].severity == types.DiagnosticSeverity.Error
        assert editor.covered(uri, by_code["GS301"].range) == "total += loss"
        assert "hidden" in editor.covered(uri, by_code["GS102"].range)
        await check_hover(editor, uri, by_code["GS201"])
        await mend_all(editor, uri, found)
        mended = editor.texts[uri]
    assert torch_oracle.run(mended).kind == "clean", mended
    assert "# a gate that never closes" in mended


async def check_hover(editor: Editor, uri: str, fault: types.Diagnostic) -> None:
    start = fault.range.start
    hover = await editor.hover(uri, start.line, start.character)
    assert hover is not None and hover.range == fault.range
    assert isinstance(hover.contents, types.MarkupContent)
    text = hover.contents.value
    assert "modified by an inplace operation" in text
    assert "torch.sigmoid(self.inner(x))" in text, "the line that saved"
    assert "loss.backward()" in text, "the line that walks"


async def mend_all(editor: Editor, uri: str, found: list[types.Diagnostic]) -> None:
    """Applies the preferred fix of what is first in the file until nothing is left, as a person does."""
    for _ in range(6):
        if not found:
            return
        first = min(found, key=lambda one: (one.range.start.line, one.range.start.character))
        actions = await editor.actions(uri, first.range, [first], only=["quickfix"])
        preferred = [action for action in actions if action.is_preferred]
        assert preferred, f"no preferred fix for {first.code}: {[action.title for action in actions]}"
        editor.apply(await editor.edit_of(preferred[0]))
        found = await editor.looked_at(uri)
    raise AssertionError(f"still there: {[one.message for one in found]}")


@pytest.mark.asyncio
async def test_fix_all_does_the_same(tmp_path: Path, torch_oracle: Oracle) -> None:
    uri = (tmp_path / "train.py").as_uri()
    async with editing(VS_CODE, REAL, folder=tmp_path) as editor:
        editor.open(uri, SCRIPT)
        (first, *_) = await editor.diagnostics(uri)
        (action,) = await editor.actions(uri, first.range, only=["source.fixAll.gradsense"])
        editor.apply(await editor.edit_of(action))
        assert await editor.looked_at(uri) == []
        mended = editor.texts[uri]
    assert torch_oracle.run(mended).kind == "clean", mended


@pytest.mark.asyncio
async def test_ignoring_takes_the_squiggle_away(tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    async with editing(VS_CODE, REAL, folder=tmp_path) as editor:
        editor.open(uri, SCRIPT)
        found = await editor.diagnostics(uri)
        (total,) = [one for one in found if one.code == "GS301"]
        actions = await editor.actions(uri, total.range, [total], only=["quickfix"])
        (ignore,) = [action for action in actions if action.title == "Ignore GS301 on this line"]
        editor.apply(await editor.edit_of(ignore))
        assert "total += loss  # gradsense: ignore[GS301]\n" in editor.texts[uri]
        assert {one.code for one in await editor.looked_at(uri)} == FAULTS - {"GS301"}


@needs_neovim
def test_in_neovim(tmp_path: Path, torch_oracle: Oracle) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    report = drive(file, REAL, len(FAULTS))
    assert {found["code"] for found in report["before"]} == FAULTS
    assert [found["text"] for found in report["before"] if found["code"] == "GS201"] == ["gate += 1.0"]
    assert report["after"] == []
    assert torch_oracle.run(file.read_text(encoding="utf-8")).kind == "clean"
