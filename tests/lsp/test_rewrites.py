"""Refactorings of what writes in place, whether or not anything is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, CellText, FindRewrites, Rewrites, RewriteView
from lsp.editor import NEOVIM, REAL, VS_CODE, editing, span
from lsp.model import replaced
from oracle import Oracle

PATH = "/nowhere/train.py"
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\ndef f(x, r, m, d):\n    "


def offers(text: str, line: int) -> tuple[RewriteView, ...]:
    engine = AnalysisEngine()
    engine.answer(Analyse(PATH, text, 0, "utf-16", None, {}))
    found = engine.answer(FindRewrites(PATH, 0, None, line, line))
    assert isinstance(found, Rewrites)
    return found.rewrites


def applied(text: str, rewrite: RewriteView) -> str:
    for edit in sorted(rewrite.edits, key=lambda edit: (edit.place.line, edit.place.character), reverse=True):
        place = edit.place
        text = replaced(
            text, span(place.line, place.character, place.end_line, place.end_character), edit.new_text, "utf-16"
        )
    return text


@pytest.mark.parametrize(
    ("statement", "becomes"),
    [
        ("x += r  # why", ["x = x + r  # why"]),
        ("x.add_(r)", ["x = x.add(r)"]),
        ("x.mul_(2).add_(r)", ["x = x.mul(2).add(r)"]),
        ("F.relu_(x)", ["x = F.relu(x)"]),
        ("y = F.relu(x, inplace=True)", ["y = x = F.relu(x)"]),
        ("torch.exp(r, out=x)", ["x = torch.exp(r)"]),
        (
            "x[x < 0] = 0",
            ["x = x.masked_fill(x < 0, 0)", "x = torch.where(x < 0, 0, x)", "x = x.clone()\n    x[x < 0] = 0"],
        ),
        ("x[x < 0] *= 0.1", ["x = torch.where(x < 0, x * 0.1, x)", "x = x.clone()\n    x[x < 0] *= 0.1"]),
        ("x[x < 0] = -x[x < 0]", ["x = torch.where(x < 0, -x, x)", "x = x.clone()\n    x[x < 0] = -x[x < 0]"]),
        ("x[:, 0] = r", ["x = x.clone()\n    x[:, 0] = r"]),
        ("x[0].add_(r)", ["x = x.clone()\n    x[0].add_(r)"]),
        ("act = nn.ReLU(inplace=True)", ["act = nn.ReLU()"]),
        ("d['key'] = r", []),
        ("x = x + r", []),
        ("n = 0; n += 1", []),
        ("print(x)", []),
    ],
)
def test_each_statement(statement: str, becomes: list[str]) -> None:
    text = f"{HEAD}{statement}\n    return x\n"
    found = offers(text, 6)
    assert [applied(text, rewrite) for rewrite in found] == [f"{HEAD}{one}\n    return x\n" for one in becomes]
    for rewrite, one in zip(found, becomes, strict=True):
        assert one.partition("\n")[0].partition("  #")[0] in rewrite.title


def test_all_activations_of_a_model() -> None:
    text = (
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.a = nn.ReLU(True)\n"
        "        self.b = nn.Dropout(0.5, inplace=True)\n\n    def forward(self, x):\n        F.relu_(x)\n"
        "        F.relu(x, inplace=True)\n        return self.b(self.a(x))\n"
    )
    for line in (5, 8, 9, 13):
        (rewrite,) = [one for one in offers(text, line) if one.title.startswith("Turn off")]
        assert rewrite.title == "Turn off all in-place activations of `Net`"
        after = applied(text, rewrite)
        assert "nn.ReLU(False)" in after and "nn.Dropout(0.5, inplace=False)" in after
        assert "        x = F.relu(x)\n" in after
    assert not [one for one in offers(text, 6) if one.title.startswith("Turn off")]


def test_cells_are_rewritten_by_themselves() -> None:
    engine = AnalysisEngine()
    cells = (CellText("one", 0, "import torch\nx = torch.ones(2)"), CellText("two", 2, "%time x += 1\nx.mul_(2)"))
    engine.answer(Analyse("/a.ipynb", "", 0, "utf-16", None, {}, cells))
    found = engine.answer(FindRewrites("/a.ipynb", 0, "two", 1, 1))
    assert isinstance(found, Rewrites)
    (rewrite,) = found.rewrites
    assert {edit.path for edit in rewrite.edits} == {"two"}
    assert applied(cells[1].text, rewrite) == "%time x += 1\nx = x.mul(2)"


PROGRAM = """\
import torch
torch.manual_seed(0)
x = torch.randn(4, 3)
{}
print(x)
"""


@pytest.mark.parametrize(
    "statement", ["x[x < 0] = 0", "x[x < 0] *= 0.1", "x[x > 1] = x[x > 1] * 2 - 1", "x[x < 0] = -1"]
)
def test_torch_computes_the_same(statement: str, torch_oracle: Oracle) -> None:
    text = PROGRAM.format(statement)
    rewrites = offers(text, 3)
    assert any("torch.where" in one.title for one in rewrites)
    check = text.replace("print(x)", "y = x\ntorch.manual_seed(0)\nx = torch.randn(4, 3)\n{}\nassert torch.equal(x, y)")
    for rewrite in rewrites:
        mended = applied(text, rewrite).split("\n", 3)[3].replace("print(x)\n", "").strip()
        assert torch_oracle.run(check.format(mended)).kind == "clean", mended


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [VS_CODE, NEOVIM])
async def test_they_are_offered_where_nothing_is_found(kind: str, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    async with editing(kind, REAL, folder=tmp_path) as editor:
        editor.open(uri, "import torch\nx = torch.ones(3)\nx += 1\n")
        assert await editor.diagnostics(uri) == []
        (action,) = await editor.actions(uri, span(2, 1, 2, 1))
        assert (action.kind, action.title) == ("refactor.rewrite", "Write out of place: `x = x + 1`")
        assert [one.title for one in await editor.actions(uri, span(2, 1, 2, 1), only=["refactor"])] == [action.title]
        assert await editor.actions(uri, span(1, 1, 1, 1)) == []
        editor.apply(await editor.edit_of(action))
        assert editor.texts[uri] == "import torch\nx = torch.ones(3)\nx = x + 1\n"


FAULTY = """\
#!/usr/bin/env python
import torch
x = torch.ones(3, requires_grad=True)
y = x.exp(); y += 1
y.sum().backward()
"""


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [VS_CODE, NEOVIM])
async def test_silencing_a_file_and_a_project(kind: str, tmp_path: Path) -> None:
    uri, project = (tmp_path / "train.py").as_uri(), (tmp_path / "pyproject.toml").as_uri()
    async with editing(kind, REAL, folder=tmp_path) as editor:
        editor.open(uri, FAULTY)
        (fault,) = await editor.diagnostics(uri)
        actions = {one.title: one for one in await editor.actions(uri, fault.range, [fault], only=["quickfix"])}
        assert list(actions)[-3:] == [
            "Ignore GS201 on this line",
            "Ignore GS201 in this file",
            "Ignore GS201 in this project (pyproject.toml)",
        ]
        edit = await editor.edit_of(actions["Ignore GS201 in this project (pyproject.toml)"])
        create, change = edit.document_changes or ()
        assert isinstance(create, types.CreateFile) and create.uri == project
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.uri == project
        assert [getattr(one, "new_text", None) for one in change.edits] == ['[tool.gradsense]\nignore = ["GS201"]\n']
        (tmp_path / "pyproject.toml").write_text('# ours\n[tool.gradsense]\nignore = ["GS5"] # these\n')
        edit = await editor.edit_of(actions["Ignore GS201 in this project (pyproject.toml)"])
        if edit.changes is not None:
            (edits,) = edit.changes.values()
        else:
            (change,) = edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            edits = [one for one in change.edits if isinstance(one, types.TextEdit)]
        assert [one.new_text for one in edits] == ['ignore = ["GS5", "GS201"] # these\n']
        editor.open(project, "[tool]\n", "toml")
        edit = await editor.edit_of(actions["Ignore GS201 in this project (pyproject.toml)"])
        editor.apply(edit)
        assert '[tool.gradsense]\nignore = ["GS201"]' in editor.texts[project]
        editor.apply(await editor.edit_of(actions["Ignore GS201 in this file"]))
        assert editor.texts[uri].startswith("#!/usr/bin/env python\n# gradsense: ignore-file[GS201]\nimport torch\n")
        assert await editor.diagnostics(uri) == []
