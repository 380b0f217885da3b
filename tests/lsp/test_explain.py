"""The command that explains a pasted traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from lsp.editor import REAL, Editor, editing

TRAIN = """\
import torch
from models import net

x = torch.randn(4, 3)
h = torch.sigmoid(net(x))
h += 1
loss = h.sum()
loss.backward()
"""
MODELS = "from torch import nn\n\nnet = nn.Linear(3, 3)\n"
ERROR = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [4, 3]], which is output 0 of SigmoidBackward0, is at version 1; expected version 0 instead."
)


async def ask(editor: Editor, **asked: Any) -> Any:
    """Runs the command."""
    params = types.ExecuteCommandParams(command="gradsense.explain", arguments=[asked])
    return await editor.client.workspace_execute_command_async(params)


def traceback(path: str, line: int) -> str:
    """As a terminal shows it."""
    return (
        f'Traceback (most recent call last):\n  File "{path}", line {line}, in <module>\n    loss.backward()\n{ERROR}\n'
    )


@pytest.mark.asyncio
async def test_a_traceback_leads_to_the_line_and_its_fix(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "train.py").write_text(TRAIN)
    async with editing(command=REAL, folder=tmp_path) as editor:
        found = await ask(editor, text=traceback("/elsewhere/train.py", 8))
        assert found["code"] == "GS201" and found["cause"] == "modified-in-place"
        assert found["location"]["uri"] == (tmp_path / "train.py").as_uri()
        assert found["location"]["range"]["start"]["line"] == 5
        assert "`h += 1`" in found["markdown"] and "The result of `sigmoid`" in found["markdown"]
        assert found["fixes"][0]["title"] == "Write `h` out of place" and found["fixes"][0]["safe"]


@pytest.mark.asyncio
async def test_the_text_being_typed_counts(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    path = tmp_path / "train.py"
    path.write_text("pass\n")
    async with editing(command=REAL, folder=tmp_path) as editor:
        editor.open(path.as_uri(), "# unsaved\n" + TRAIN)
        found = await ask(editor, text=traceback(str(path), 8), uri=path.as_uri())
        assert (found["code"], found["location"]["range"]["start"]["line"]) == ("GS201", 6)


@pytest.mark.asyncio
async def test_a_cell_of_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    lines = TRAIN.splitlines(keepends=True)
    texts = ["".join(lines[:4]), "".join(lines[4:])]
    uri = (tmp_path / "a.ipynb").as_uri()
    cells = [f"vscode-notebook-cell:{uri}#{number}" for number in range(2)]
    async with editing(command=REAL, folder=tmp_path) as editor:
        editor.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                notebook_document=types.NotebookDocument(
                    uri=uri,
                    notebook_type="jupyter-notebook",
                    version=1,
                    cells=[types.NotebookCell(kind=types.NotebookCellKind.Code, document=cell) for cell in cells],
                ),
                cell_text_documents=[
                    types.TextDocumentItem(uri=cell, language_id="python", version=1, text=text)
                    for cell, text in zip(cells, texts, strict=True)
                ],
            )
        )
        pasted = f"Cell In[9], line 4\n      3 loss = h.sum()\n----> 4 loss.backward()\n\n{ERROR}"
        found = await ask(editor, text=pasted, uri=cells[1])
        assert (found["code"], found["location"]["uri"], found["location"]["range"]["start"]["line"]) == (
            "GS201",
            cells[1],
            1,
        )


@pytest.mark.asyncio
async def test_what_cannot_be_explained_is_null(tmp_path: Path) -> None:
    async with editing(command=REAL, folder=tmp_path) as editor:
        assert await ask(editor, text="NameError: name 'x' is not defined") is None
        found = await ask(editor, text=ERROR)
        assert found["location"] is None and found["code"] is None and not found["fixes"]


@pytest.mark.asyncio
@pytest.mark.parametrize("asked", [{}, {"text": 3}])
async def test_wrong_arguments_get_an_error_that_says_what_is_needed(tmp_path: Path, asked: Any) -> None:
    async with editing(command=REAL, folder=tmp_path) as editor:
        with pytest.raises(Exception, match="needs an object with the traceback"):
            await ask(editor, **asked)
