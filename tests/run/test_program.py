"""What runs, for a line in a script, a function, a cell."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from gradsense.run.program import NothingToRun, Program, program
from gradsense.syntax import Source

SCRIPT = """\
import torch

@torch.no_grad()
def setup(): ...

def train(steps=3):
    for step in range(steps):
        pass

def evaluate(model):
    return model

class Net:
    def forward(self):
        pass

if __name__ == "__main__":
    train()
"""


def chosen(text: str, line: int | None = None, call: str | None = None) -> Program:
    return program(Source.from_text("train.py", dedent(text)), line, call)


def test_a_script_runs_whole() -> None:
    assert chosen(SCRIPT) == Program("train.py", SCRIPT)
    assert chosen(SCRIPT, 1) == Program("train.py", SCRIPT)
    assert chosen(SCRIPT, 15).call is None


@pytest.mark.parametrize(("line", "call"), [(3, "setup()"), (4, "setup()"), (6, "train()"), (8, "train()"), (9, None)])
def test_a_function_without_arguments_is_called(line: int, call: str | None) -> None:
    assert chosen(SCRIPT, line).call == call


def test_a_function_with_arguments_needs_a_call() -> None:
    found = chosen(SCRIPT, 11)
    assert found.call is None
    [note] = found.notes
    assert "`evaluate` takes arguments" in note and "--call" in note
    assert chosen(SCRIPT, 11, "evaluate(Net())") == Program("train.py", SCRIPT, call="evaluate(Net())")


def test_a_function_that_the_script_calls_is_not_called_again() -> None:
    assert chosen("def train():\n    pass\n\ntrain()\n", 2).call is None
    assert chosen("def train():\n    pass\n\nfor seed in range(3):\n    print(train())\n", 2).call is None


def test_a_broken_script_runs_whole_and_says_so_itself() -> None:
    assert chosen("def train():\n    pass\n\nif:\n", 2) == Program("train.py", "def train():\n    pass\n\nif:\n")


CELLS = "import torch\n\n# %% first\na = 1\n\n# %% second\ndef train():\n    pass\n\n# %% third\ntrain()\n"


@pytest.mark.parametrize(("line", "until"), [(None, None), (1, 2), (3, 5), (5, 5), (10, 12), (12, 12)])
def test_a_cell_runs_with_those_before_it(line: int | None, until: int | None) -> None:
    found = chosen(CELLS, line)
    assert found.until_line == until and found.call is None


def test_a_function_in_a_cell_that_does_not_call_it_is_called() -> None:
    found = chosen(CELLS, 8)
    assert (found.until_line, found.call) == (9, "train()")


def notebook(*cells: str, line: int | None = None) -> Program:
    sources = [{"cell_type": "markdown", "source": "# Title", "metadata": {}}]
    sources += [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    document = {"cells": sources, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return program(Source.from_notebook("a.ipynb", json.dumps(document).encode()), line)


def test_a_notebook_runs_its_code_cells_in_order() -> None:
    found = notebook("a = 1\nb = 2", "c = 3")
    assert found == Program("a.ipynb", "a = 1\nb = 2\nc = 3", cells=((1, 2), (3, 3)))
    assert notebook("a = 1\nb = 2", "c = 3", line=1).until_line == 2


def test_magics_are_left_out_and_those_that_matter_are_named() -> None:
    found = notebook(
        "%matplotlib inline\n!pip install einops\nfiles = !ls\n%time x = [1]\nif x:\n    %cd data",
        "%%bash\nls\n",
        "%%time\ny = 2",
    )
    scope: dict[str, object] = {}
    exec(found.text, scope)
    assert (scope["files"], scope["x"], scope["y"]) == (None, [1], 2)
    assert [note.split(" was left out: ") for note in found.notes] == [
        ["cell 2, line 2", "`!pip install einops`"],
        ["cell 2, line 3", "`files = !ls`"],
        ["cell 2, line 6", "`%cd data`"],
        ["cell 3, line 1", "`%%bash`"],
        ["cell 3, line 2", "`ls`"],
    ]


def test_nothing_to_run_is_told() -> None:
    with pytest.raises(NothingToRun, match="no Python in it"):
        chosen("  \n")
    with pytest.raises(NothingToRun, match="has no line 40: it ends with line 3"):
        chosen("a = 1\nb = 2\n", 40)
