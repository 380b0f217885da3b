"""Random edits of a notebook: in a pause, what is found is what a fresh analysis finds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, Analysis, CellText, FindingView, Stage

PATH = "/nowhere/train.ipynb"
CELLS = (
    "%matplotlib inline\nimport torch\nfrom torch import nn\n",
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = nn.Linear(3, 1)\n"
    "\n    def forward(self, x):\n        gate = self.inner(x).sigmoid()\n        gate += 1\n        return gate\n",
    "def unused(x):\n    y = torch.exp(nn.Linear(3, 3)(x))\n    y.mul_(2)\n    y.sum().backward()\n",
    "model = nn.Linear(3, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    "files = !ls\nloss = model(torch.randn(4, 3)).mean()\nloss",
    "optimizer.zero_grad()\nloss.backward()\noptimizer.step()\n",
    "history = []\nfor x in torch.randn(64, 4, 3):\n    out = model(x).mean()\n    history.append(out)\nprint(history)",
    "loss = model(torch.ones(4, 3)).mean()\nloss.backward()\n",
)
# What is put in, or takes the place of a line.
LINES = (
    "",
    "# a remark",
    "print(loss)",
    "loss = loss * 2",
    "loss.backward()",
    "with torch.no_grad():",
    "    x = 3",
    "        return gate * 2",
    "loss = (",
    "%timeit model(torch.ones(4, 3))",
    "model = Net()",
    "x = torch.ones(3, requires_grad=True)\nx += 1",
)


class Book:
    """A notebook, an analysis that follows its edits, and a person who makes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.engine = AnalysisEngine()
        self.cells = list(enumerate(CELLS))
        self.revision = 0
        self.see(Stage.WHOLE)

    def see(self, stage: Stage, engine: AnalysisEngine | None = None) -> Analysis:
        cells = tuple(CellText(f"cell{index}", index, text) for index, text in self.cells)
        request = Analyse(PATH, "", self.revision, "utf-16", None, {"show-hints": True}, cells, stage)
        reply = (engine or self.engine).answer(request)
        assert isinstance(reply, Analysis)
        return reply

    def edit(self) -> None:
        """One change: mostly of a line, at times of the cells."""
        at = self.random.randrange(len(self.cells))
        index, text = self.cells[at]
        chance = self.random.random()
        if chance < 0.05 and len(self.cells) > 2:
            del self.cells[at]
        elif chance < 0.1:
            self.cells.insert(self.random.randrange(len(self.cells)), self.cells.pop(at))
        elif chance < 0.15:
            lines = text.split("\n")
            half = self.random.randrange(len(lines))
            self.cells[at : at + 1] = [
                (index, "\n".join(lines[:half])),
                (1000 + self.revision, "\n".join(lines[half:])),
            ]
        elif chance < 0.3:
            self.cells[at] = (index, CELLS[index] if index < len(CELLS) else "")
        else:
            lines = text.split("\n")
            line = self.random.randrange(len(lines))
            lines[line : line + self.random.randrange(2)] = [self.random.choice(LINES)]
            self.cells[at] = (index, "\n".join(lines))
        self.revision += 1


def plain(analysis: Analysis) -> Iterator[FindingView]:
    return iter(sorted(analysis.findings, key=lambda f: (f.path, f.place.line, f.place.character, f.code, f.message)))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_is_what_a_fresh_analysis_finds(seed: int) -> None:
    book = Book(seed)
    for number in range(24):
        book.edit()
        book.see(Stage.GLANCE)
        if book.random.random() < 0.5:
            book.see(Stage.LOOK)
        if number % 3 == 2:
            mend(book)
            found = list(plain(book.see(Stage.WHOLE)))
            assert found == list(plain(book.see(Stage.WHOLE, AnalysisEngine()))), book.cells


def mend(book: Book) -> None:
    """Makes every cell one that can be read: what is half written keeps its findings, which a fresh analysis lacks."""
    for at, (index, text) in enumerate(book.cells):
        lines = ["pass" if line.startswith(("%", "files = !")) else line for line in text.split("\n")]
        try:
            compile("\n".join(lines), "cell", "exec")
        except SyntaxError:
            book.cells[at] = (index, CELLS[index] if index < len(CELLS) else "")
            book.revision += 1
            book.see(Stage.GLANCE)


def test_typing_in_a_cell_keeps_the_findings_of_all_others() -> None:
    book = Book(0)
    before = {(f.code, f.path) for f in book.see(Stage.WHOLE).findings}
    assert {path for _, path in before} >= {"cell2", "cell6"}
    index, text = book.cells[7]
    for typed in ("l", "lo", "loss = (", "loss = (3", "loss = (3)"):
        book.cells[7] = (index, text + typed)
        book.revision += 1
        for stage in (Stage.GLANCE, Stage.LOOK):
            assert {(f.code, f.path) for f in book.see(stage).findings} >= before
