"""What a hover says of a tensor: its books."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsprotocol import types

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, CellText, DescribeTensor, TensorBooks
from lsp.editor import NEOVIM, REAL, VS_CODE_NOW, editing, span
from oracle import Oracle

PATH = "/nowhere/train.py"


def books(text: str, line: int, word: str, nth: int = 0) -> TensorBooks | None:
    """What is said of a word on a line, counted from 1."""
    engine = AnalysisEngine()
    engine.answer(Analyse(PATH, text, 0, "utf-16", None, {}))
    column = [found.start() for found in re.finditer(rf"\b{word}\b", text.split("\n")[line - 1])][nth]
    reply = engine.answer(DescribeTensor(PATH, 0, None, line - 1, column))
    return reply if isinstance(reply, TensorBooks) else None


def facts(text: str, line: int, word: str, nth: int = 0) -> str:
    found = books(text, line, word, nth)
    assert found is not None
    return "\n".join([found.kind, *found.facts])


MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)

    def forward(self, x, flag):
        gate = torch.sigmoid(self.fc(x))
        gate += 1
        if flag:
            extra = gate * 2
        else:
            extra = gate.detach()
        self.last = extra
        return extra


def train(data):
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    hidden = torch.zeros(2, 8)
    for step in range(4):
        hidden = cell(torch.randn(2, 4), hidden)
        loss = head(hidden).pow(2).mean()
        loss.backward()
    n = 3
"""


def test_who_saved_it_and_who_wrote_it() -> None:
    text = facts(MODEL, 11, "gate")
    assert "needs grad: yes, made by `sigmoid` on line 11" in text
    assert "saved for backward by `sigmoid` on line 11" in text
    assert "written in place on line 12" in text and "changed since `sigmoid` saved it" in text


def test_both_branches_are_looked_into() -> None:
    assert "yes, made by `mul` on line 14" in facts(MODEL, 14, "extra")
    assert "no, `detach` on line 16 cut it off" in facts(MODEL, 16, "extra")
    assert "needs grad" in facts(MODEL, 17, "last"), "an attribute"


def test_a_state_that_is_carried() -> None:
    assert facts(MODEL, 23, "hidden").startswith("tensor [2, 8] float32\nneeds grad: no, made on line 23")
    carried = facts(MODEL, 25, "hidden", 1)
    assert "carried over from an earlier pass of the loop" in carried
    assert "freed by the walk on line 27" in carried
    assert "carried" not in facts(MODEL, 26, "hidden")


@pytest.mark.parametrize(("line", "word"), [(1, "torch"), (8, "fc"), (28, "n"), (10, "flag"), (24, "step")])
def test_what_is_no_tensor_has_no_books(line: int, word: str) -> None:
    assert books(MODEL, line, word) is None


PROGRAM = """\
import torch
w = torch.ones(3, 2, requires_grad=True)
y = w.exp()
v = y[0]
v += 1
z = (w * w).sum()
c = z.detach()
z.backward()
n = torch.arange(4)
u = n.float().view(2, 2) @ torch.ones(2, 5)
print(w, y, v, z, c, n, u)
"""


@pytest.mark.parametrize("name", ["w", "y", "v", "z", "c", "n", "u"])
def test_torch_says_the_same(name: str, torch_oracle: Oracle) -> None:
    found = books(PROGRAM, 11, name)
    assert found is not None
    said = "\n".join(found.facts)
    shape = re.findall(r"\[([\d, ]*)\]", found.kind)[0]
    needs = "needs grad: yes" in said
    leaf = "made by" not in said
    version = int(re.findall(r"version (\d+)", said)[0])
    check = (
        f"assert tuple({name}.shape) == tuple([{shape}])\nassert {name}.requires_grad == {needs}\n"
        f"assert {name}.is_leaf == {leaf}\nassert {name}._version == {version}\n"
        f"assert str({name}.dtype) == 'torch.{found.kind.rpartition(' ')[2]}'\n"
    )
    assert torch_oracle.run(PROGRAM + check).kind == "clean", found


def test_in_a_cell() -> None:
    engine = AnalysisEngine()
    cells = (
        CellText("a", 0, "import torch\nw = torch.ones(3, requires_grad=True)"),
        CellText("b", 1, "'😀'; y = w.exp()"),
    )
    engine.answer(Analyse("/a.ipynb", "", 0, "utf-16", None, {}, cells))
    reply = engine.answer(DescribeTensor("/a.ipynb", 0, "b", 0, 10))
    assert isinstance(reply, TensorBooks) and (reply.name, reply.place.character) == ("w", 10)
    assert "a leaf made on cell 1 line 2" in reply.facts[0]


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [VS_CODE_NOW, NEOVIM])
async def test_an_editor_shows_them(kind: str, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    async with editing(kind, REAL, folder=tmp_path) as editor:
        editor.open(uri, "import torch\n'😀'; w = torch.ones(3, requires_grad=True)\ny = w.exp()\n")
        hover = await editor.hover(uri, 2, 4)
        assert hover is not None and hover.range == span(2, 4, 2, 5)
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.value.startswith("**`w`** tensor [3] float32\n\n- needs grad: yes, a leaf made on line 2")
        assert await editor.hover(uri, 0, 8) is None
