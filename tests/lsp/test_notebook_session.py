"""A session with a notebook and the real analysis, as a person has it: write, see, mend, run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from lsp.editor import REAL, VS_CODE_NOW, Editor, editing, span

pytestmark = pytest.mark.asyncio

IMPORTS = "%matplotlib inline\n!pip install torch\nimport torch\nfrom torch import nn"
MODEL = "model = nn.Linear(4, 1)\nx = torch.randn(8, 4)"
SHELL = "%%bash\nfor f in *; do echo ((; done"
FORWARD = "😀é = '😀'".replace("😀é", "note") + "; gate = torch.sigmoid(model(x))"
WRITE = "gate += 1  # open it"
WALK = "%%time\ngate.sum().backward()"


async def codes(editor: Editor, uri: str) -> list[tuple[object, str]]:
    return [(found.code, editor.covered(uri, found.range)) for found in await editor.diagnostics(uri)]


async def test_a_story_that_spans_cells(tmp_path: Path) -> None:
    uri = (tmp_path / "gates.ipynb").as_uri()
    async with editing(VS_CODE_NOW, REAL, folder=tmp_path) as editor:
        _, _, _, shell, forward, write, walk = editor.open_notebook(
            uri, ("markdown", "# Gates"), IMPORTS, MODEL, SHELL, FORWARD, WRITE, WALK
        )
        assert await codes(editor, write) == [("GS201", "gate += 1")]
        assert await codes(editor, forward) == await codes(editor, shell) == await codes(editor, walk) == []
        (fault,) = await editor.diagnostics(write)
        assert "cell 5 line 1" in fault.message
        assert {line.location.uri for line in fault.related_information or ()} == {forward, walk}
        saved = next(line for line in fault.related_information or () if line.location.uri == forward)
        assert editor.covered(forward, saved.location.range) == "torch.sigmoid(model(x))"

        actions = {
            action.title: action for action in await editor.actions(write, fault.range, [fault], only=["quickfix"])
        }
        assert list(actions)[:2] == [
            "Write `gate` out of place",
            "Save a copy of `torch.sigmoid(model(x))` (changes cell 5)",
        ]
        other = actions["Save a copy of `torch.sigmoid(model(x))` (changes cell 5)"]
        assert [edit.text_document.uri for edit in (await editor.edit_of(other)).document_changes or ()] == [forward]
        assert other.is_preferred is None
        editor.apply(await editor.edit_of(actions["Write `gate` out of place"]))
        assert editor.texts[write] == "gate = gate + 1  # open it"
        assert await codes(editor, write) == []


async def test_fixing_a_cell_leaves_the_others_alone(tmp_path: Path) -> None:
    uri = (tmp_path / "gates.ipynb").as_uri()
    total = "total = 0\nfor _ in range(3):\n    loss = model(x).mean()\n    loss.backward()\n    {}total += loss"
    async with editing(VS_CODE_NOW, REAL, folder=tmp_path) as editor:
        _, _, one, two = editor.open_notebook(uri, IMPORTS, MODEL, total.format(""), total.format("a = 1; "))
        assert [code for code, _ in await codes(editor, one)] == ["GS301"]
        (action,) = await editor.actions(two, span(0, 0, 0, 0), only=["source.fixAll"])
        assert action.kind == "source.fixAll.gradsense"
        editor.apply(await editor.edit_of(action))
        assert editor.texts[two].endswith("a = 1; total += loss.item()")
        assert editor.texts[one].endswith("total += loss")
        (action,) = await editor.actions(two, span(0, 0, 0, 0), only=["notebook.source.fixAll"])
        editor.apply(await editor.edit_of(action))
        assert editor.texts[one].endswith("total += loss.item()")
        assert await codes(editor, one) == await codes(editor, two) == []


async def test_a_broken_cell_leaves_the_others_alive(tmp_path: Path) -> None:
    uri = (tmp_path / "gates.ipynb").as_uri()
    async with editing(VS_CODE_NOW, REAL, folder=tmp_path) as editor:
        _, _, forward, write, _ = editor.open_notebook(uri, IMPORTS, MODEL, FORWARD, WRITE, WALK)
        assert await codes(editor, write) == [("GS201", "gate += 1")]
        (broken,) = editor.insert_cells(uri, 2, "def half(:\n    x = (")
        editor.edit(forward, (span(0, 0, 0, 0), "\n"))
        assert await codes(editor, write) == [("GS201", "gate += 1")]
        assert await codes(editor, broken) == []


async def test_running_a_cell_twice(tmp_path: Path) -> None:
    uri = (tmp_path / "gates.ipynb").as_uri()
    async with editing(VS_CODE_NOW, REAL, folder=tmp_path) as editor:
        _, _, forward, walk = editor.open_notebook(
            uri, IMPORTS, MODEL, "loss = model(x).pow(2).mean()", "loss.backward()"
        )
        (fault,) = await editor.found(walk, "GS101")
        assert fault.code == "GS101" and fault.severity == types.DiagnosticSeverity.Information
        assert fault.message.startswith("raises when this cell is run again")
        actions = await editor.actions(walk, fault.range, [fault], only=["quickfix"])
        assert not any(action.is_preferred or action.title.startswith("Remove the walk") for action in actions)
        editor.remove_cells(uri, 3)
        editor.edit(forward, (span(0, 29, 0, 29), "\nloss.backward()"))
        assert await codes(editor, forward) == [], "all of it is run again"
