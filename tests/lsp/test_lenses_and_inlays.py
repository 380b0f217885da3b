"""Lines over loops and cells, short texts behind lines, and links to pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, CellText, FindInlays, FindLenses, Inlays, Lenses
from lsp.editor import NEOVIM, REAL, VS_CODE_NOW, editing, span

PATH = "/nowhere/train.py"
LOOPS = """\
import torch


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for epoch in range(3):
        for x in data:
            loss = model(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
    for x in data:
        print(x)


w = torch.ones(3, requires_grad=True)
y = w.exp()
z = y.detach()
y.sum().backward()
"""


def lenses(text: str, cells: tuple[CellText, ...] | None = None) -> list[tuple[str, int]]:
    engine = AnalysisEngine()
    engine.answer(Analyse(PATH, text, 0, "utf-16", None, {}, cells))
    found = engine.answer(FindLenses(PATH, 0))
    assert isinstance(found, Lenses)
    return [(run.path, run.place.line) for run in found.places]


def test_training_loops_have_a_lens() -> None:
    assert lenses(LOOPS) == [(PATH, 6)], "the outermost; a walk outside of any loop has none"
    assert lenses("import torch\n") == []
    helper = "def step(x):\n    x.sum().backward()\n\n\ndef run(data):\n    while data:\n        step(data.pop())\n"
    assert lenses(helper) == [(PATH, 5)]


def test_cells_that_walk_have_a_lens() -> None:
    script = "# %% one\nimport torch\nw = torch.ones(3, requires_grad=True)\n# %% two\nw.sum().backward()\n# %%\nx = 1"
    assert lenses(script) == [(PATH, 3)]
    cells = (
        CellText("a", 0, "import torch\nw = torch.ones(3, requires_grad=True)"),
        CellText("b", 3, "%time x = 1\n\nw.sum().backward()"),
    )
    assert lenses("", cells) == [("b", 0)]


def test_what_needs_grad_and_what_grows() -> None:
    engine = AnalysisEngine()
    engine.answer(Analyse(PATH, LOOPS, 0, "utf-16", None, {}))
    found = engine.answer(FindInlays(PATH, 0, None, 0, 30))
    assert isinstance(found, Inlays)
    said = {(one.line, one.character, one.label) for one in found.inlays}
    assert (17, 1, "needs grad") in said and (18, 1, "needs grad") in said
    assert not [one for one in said if one[0] in (4, 5, 19)]
    (growth,) = [one for one in said if "keeps" in one[2]]
    assert growth[0] == 12 and growth[1] == 25 and "graph nodes a step" in growth[2]
    found = engine.answer(FindInlays(PATH, 0, None, 18, 18))
    assert isinstance(found, Inlays) and [one.line for one in found.inlays] == [18]


def argument(lens: types.CodeLens) -> Any:
    assert lens.command is not None and lens.command.command == "gradsense.runStep"
    (found,) = lens.command.arguments or ()
    return found


@pytest.mark.asyncio
@pytest.mark.parametrize(("kind", "name"), [(VS_CODE_NOW, "Visual Studio Code"), (NEOVIM, "Neovim")])
async def test_in_an_editor(kind: str, name: str, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    text = LOOPS + "# '😀' # gradsense: ignore[GS301, GS999]\n"
    options = {"inlayHints": {"enabled": True}}
    async with editing(kind, REAL, folder=tmp_path, options=options, name=name) as editor:
        editor.client.set_configuration(options, section="gradsense")
        editor.open(uri, text)
        await editor.diagnostics(uri)
        identifier = types.TextDocumentIdentifier(uri=uri)
        (lens,) = await editor.client.text_document_code_lens_async(types.CodeLensParams(identifier)) or ()
        assert lens.range.start.line == 6
        assert argument(lens) == {"uri": uri, "line": 6}
        assert lens.command is not None
        assert lens.command.title == ("$(play) " if kind == VS_CODE_NOW else "") + "Run step under anomaly detection"
        hints = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(identifier, span(0, 0, 30, 0)))
        assert "needs grad" in {hint.label for hint in hints or ()}
        links = await editor.client.text_document_document_link_async(types.DocumentLinkParams(identifier))
        (link,) = links or ()
        assert editor.covered(uri, link.range) == "GS301"
        assert link.target is not None and "GS301" in link.target.upper()
        editor.client.set_configuration({"codeLens": {"enabled": False}}, section="gradsense")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await editor.barrier()
        while await editor.client.text_document_code_lens_async(types.CodeLensParams(identifier)):
            pass
        assert not await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(identifier, span(0, 0, 30, 0))
        )
