"""The real analysis behind the worker, asked directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import (
    Analyse,
    Analysis,
    Done,
    Edits,
    Explain,
    FilesChanged,
    FindFixes,
    FixAll,
    Fixes,
    Forget,
    Page,
    Place,
    Stale,
)

FAULTY = """\
import torch
x = torch.ones(3, requires_grad=True)
y = torch.sigmoid(x); y += 1
y.sum().backward()
"""

MODELS = """\
import torch


def activate(x):
    y = torch.sigmoid(x)
    return y
"""

TRAIN = """\
import torch
from models import activate

x = torch.ones(3, requires_grad=True)
y = activate(x)
y.sum().backward()
"""

REGISTRY = """\
LAYERS = {}


def register(cls):
    LAYERS[cls.__name__] = cls
    return cls
"""
LAYERS = """\
import torch
from torch import nn
from registry import register
from models import activate


@register
class Gate(nn.Module):
    def forward(self, x):
        y = activate(x)
        y += 1
        return y
"""
BUILD = """\
import torch
import layers
from registry import LAYERS

gate = LAYERS["Gate"]()
gate(torch.ones(3, requires_grad=True)).sum().backward()
"""


@pytest.fixture
def engine() -> AnalysisEngine:
    return AnalysisEngine()


def analyse(engine: AnalysisEngine, path: str, text: str, revision: int = 0, **more: Any) -> Analysis:
    request = Analyse(path, text, revision, more.get("encoding", "utf-16"), more.get("root"), more.get("overrides", {}))
    reply = engine.answer(request)
    assert isinstance(reply, Analysis)
    return reply


def codes(analysis: Analysis) -> list[str]:
    return [finding.code for finding in analysis.findings]


@pytest.mark.parametrize("path", ["/nowhere/train.py", "untitled:Untitled-1"])
def test_a_finding_in_the_clients_terms(engine: AnalysisEngine, path: str) -> None:
    text = FAULTY.replace("y = torch", "'😀'; y = torch").replace("\n", "\r\n")
    (finding,) = analyse(engine, path, text).findings
    assert (finding.code, finding.severity, finding.place) == ("GS201", "error", Place(2, 28, 2, 34))
    assert finding.expected is not None and "modified by an inplace operation" in finding.expected
    assert {line.path for line in finding.related} == {path}
    assert "y.sum().backward()" in {line.text for line in finding.related}
    (again,) = analyse(engine, path, text, encoding="utf-8").findings
    assert again.place == Place(2, 30, 2, 36)


def test_a_byte_order_mark_counts_for_those_who_keep_it(engine: AnalysisEngine) -> None:
    text = "\ufeffimport torch; x = torch.ones(3, requires_grad=True); y = x.exp(); y += 1; y.sum().backward()\n"
    (finding,) = analyse(engine, "/nowhere/train.py", text).findings
    assert text[finding.place.character : finding.place.end_character] == "y += 1"


def test_an_open_file_counts_as_it_stands_in_the_editor(engine: AnalysisEngine, tmp_path: Path) -> None:
    models, train = tmp_path / "models.py", tmp_path / "train.py"
    models.write_text(MODELS)
    train.write_text(TRAIN)
    root = str(tmp_path)
    assert codes(analyse(engine, str(train), TRAIN, root=root)) == []
    broken = MODELS.replace("    return", "    y += 1\n    return")
    analyse(engine, str(models), broken, root=root)
    (found,) = analyse(engine, str(train), TRAIN, 1, root=root).findings
    assert found.code == "GS201" and found.related[0].path == str(models), "which does not show it by itself"
    caller = TRAIN.replace("y.sum()", "y += 1\ny.sum()")
    analyse(engine, str(models), MODELS.replace("torch.sigmoid(x)", "x * 2"), 1, root=root)
    assert codes(analyse(engine, str(train), caller, 2, root=root)) == []
    analyse(engine, str(models), MODELS, 2, root=root)
    assert codes(analyse(engine, str(train), caller, 2, root=root)) == ["GS201"]


def test_a_closed_file_counts_as_it_is_on_disk(engine: AnalysisEngine, tmp_path: Path) -> None:
    models, train = tmp_path / "models.py", tmp_path / "train.py"
    models.write_text(MODELS)
    text = TRAIN.replace("y.sum()", "y += 1\ny.sum()")
    root = str(tmp_path)
    analyse(engine, str(models), MODELS.replace("torch.sigmoid(x)", "x * 2"), root=root)
    assert codes(analyse(engine, str(train), text, root=root)) == []
    assert engine.answer(Forget(str(models))) == Done()
    assert codes(analyse(engine, str(train), text, 1, root=root)) == ["GS201"]
    models.write_text(MODELS.replace("torch.sigmoid(x)", "x * 2"))
    assert engine.answer(FilesChanged((str(models),))) == Done()
    assert codes(analyse(engine, str(train), text, 2, root=root)) == []


def test_settings_of_the_project_and_of_the_editor(engine: AnalysisEngine, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradsense]\nignore = ["GS201"]\nshow-hints = 5\n')
    path = str(tmp_path / "train.py")
    quiet = analyse(engine, path, FAULTY)
    assert codes(quiet) == []
    (problem,) = quiet.problems
    assert "`show-hints` must be true or false" in problem
    assert codes(analyse(engine, path, FAULTY, overrides={"ignore": []})) == ["GS201"]
    (tmp_path / "pyproject.toml").write_text("[tool.gradsense]\n")
    engine.answer(FilesChanged((str(tmp_path / "pyproject.toml"),)))
    assert codes(analyse(engine, path, FAULTY)) == ["GS201"]


def test_excluded_files_are_left_alone(engine: AnalysisEngine, tmp_path: Path) -> None:
    path = str(tmp_path / ".venv" / "lib" / "train.py")
    assert codes(analyse(engine, path, FAULTY, root=str(tmp_path))) == []
    assert codes(analyse(engine, path, FAULTY, root=str(tmp_path), overrides={"exclude": []})) == ["GS201"]


def test_a_comment_silences(engine: AnalysisEngine) -> None:
    analysis = analyse(engine, "/nowhere/train.py", FAULTY.replace("y += 1", "y += 1  # gradsense: ignore[GS201]"))
    assert codes(analysis) == []


def test_ignoring_keeps_line_ends(engine: AnalysisEngine) -> None:
    analyse(engine, "/nowhere/train.py", FAULTY.replace("\n", "\r\n"))
    fixes = engine.answer(FindFixes("/nowhere/train.py", 0, (0, 17)))
    assert isinstance(fixes, Fixes)
    ignore, whole = fixes.suppressions
    assert [edit.new_text for edit in whole.edits] == ["# gradsense: ignore-file[GS201]\r\n"]
    (edit,) = ignore.edits
    assert (ignore.title, edit.new_text) == ("Ignore GS201 on this line", "  # gradsense: ignore[GS201]")
    assert edit.place == Place(2, 28, 2, 28)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_mending_the_whole_file(engine: AnalysisEngine, newline: str) -> None:
    text = FAULTY.replace("\n", newline)
    analyse(engine, "/nowhere/train.py", text)
    for code in (None, "GS201"):
        edits = engine.answer(FixAll("/nowhere/train.py", 0, code))
        assert isinstance(edits, Edits)
        (edit,) = edits.edits
        assert edit.place == Place(2, 0, 3, 0)
        assert edit.new_text.endswith(newline)
        assert "y = y + 1" in edit.new_text
    assert engine.answer(FixAll("/nowhere/train.py", 0, "GS301")) == Edits(())


def test_other_revisions_are_stale(engine: AnalysisEngine) -> None:
    analyse(engine, "/nowhere/train.py", FAULTY, 3)
    assert engine.answer(FindFixes("/nowhere/train.py", 2, (0,))) == Stale()
    assert engine.answer(FixAll("/nowhere/other.py", 3, None)) == Stale()


def test_pages(engine: AnalysisEngine) -> None:
    for code in ("GS201", "GS001"):
        page = engine.answer(Explain(code))
        assert isinstance(page, Page) and page.rule is not None and page.rule.text
    assert engine.answer(Explain("GS999")) == Page(None)


@pytest.mark.parametrize(
    "text",
    ["", "\0", "def f(:\n", "import torch\nx = (\n", "(" * 5000, "import torch\n" + "x = 1\n" * 50_000, "\ud83d"],
)
def test_bad_texts(engine: AnalysisEngine, text: str) -> None:
    analyse(engine, "/nowhere/train.py", text)


def test_a_finding_leads_to_its_rules_page_on_this_machine(engine: AnalysisEngine) -> None:
    [finding] = analyse(engine, "train.py", FAULTY).findings
    assert finding.url is not None and finding.url.startswith("file:")
    page = Path(url2pathname(urlsplit(finding.url).path)).read_text(encoding="utf-8")
    assert f"# {finding.code} {finding.name}\n" in page


def test_what_a_file_enters_into_a_registry_is_there_after_an_edit(engine: AnalysisEngine, tmp_path: Path) -> None:
    files = {"registry.py": REGISTRY, "models.py": MODELS, "layers.py": LAYERS, "build.py": BUILD}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    root, build = str(tmp_path), str(tmp_path / "build.py")
    assert codes(analyse(engine, build, BUILD, root=root)) == ["GS201"]
    for revision, touched in enumerate(("models.py", "layers.py", "registry.py", "build.py"), 1):
        edited = files[touched] + "z = 1\n"
        analyse(engine, str(tmp_path / touched), edited, revision, root=root)
        if touched != "build.py":
            assert codes(analyse(engine, build, BUILD, revision, root=root)) == ["GS201"], touched
        else:
            assert codes(analyse(engine, build, edited, revision + 1, root=root)) == ["GS201"]
