"""Squiggles of files that nobody has open."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.editor import REAL, VS_CODE, VS_CODE_NOW, Editor, editing
from lsp.test_lifecycle import children_of, gone, needs_proc

pytestmark = pytest.mark.asyncio

FAULTY = "import torch\nx = torch.ones(3, requires_grad=True)\ny = torch.sigmoid(x); y += 1\ny.sum().backward()\n"
MODELS = "import torch\n\n\ndef activate(x):\n    return {}(x)\n"
USES = FAULTY.replace("import torch", "import torch\nfrom models import activate").replace("torch.sigmoid", "activate")
MODE = {"diagnosticMode": "workspace"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "faulty.py").write_text(FAULTY)
    (tmp_path / "fine.py").write_text("import torch\n")
    (tmp_path / "models.py").write_text(MODELS.format("torch.sigmoid"))
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "library.py").write_text(FAULTY)
    return tmp_path


def ask(editor: Editor, previous: dict[str, str] | None = None, token: str | None = None) -> asyncio.Task[Any]:
    ids = [types.PreviousResultId(uri, name) for uri, name in (previous or {}).items()]
    params = types.WorkspaceDiagnosticParams(
        previous_result_ids=ids, partial_result_token=token, work_done_token="work"
    )
    return asyncio.ensure_future(editor.client.workspace_diagnostic_async(params))


def found(report: types.WorkspaceDiagnosticReport | Any) -> dict[str, list[object]]:
    """The codes by file name."""
    return {item.uri.rpartition("/")[2]: [one.code for one in item.items] for item in report.items}


def tell(editor: Editor, path: Path) -> None:
    change = types.FileEvent(uri=path.as_uri(), type=types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=[change]))


async def test_an_answer_at_once(folder: Path) -> None:
    async with editing(VS_CODE_NOW, REAL, folder=folder, options=MODE) as editor:
        editor.client.set_configuration(MODE, section="gradsense")
        report = await asyncio.wait_for(ask(editor), 60)
        assert found(report) == {"faulty.py": ["GS201"], "uses.py": ["GS201"]}
        assert [bit["kind"] for bit in editor.progress["work"]] == ["begin", *["report"] * 4, "end"]


async def test_bit_by_bit_and_again_when_something_changes(folder: Path) -> None:
    async with editing(VS_CODE_NOW, REAL, folder=folder, options=MODE) as editor:
        editor.client.set_configuration(MODE, section="gradsense")
        report = await asyncio.wait_for(ask(editor, token="bits"), 60)
        assert not report.items
        (bit,) = editor.progress["bits"]
        names = {item["uri"]: item["resultId"] for item in bit["items"]}
        waiting = ask(editor, names, token="more")
        await asyncio.sleep(1)
        assert not waiting.done(), "there is nothing new to say"
        (folder / "models.py").write_text(MODELS.format("torch.neg"))
        tell(editor, folder / "models.py")
        await asyncio.wait_for(waiting, 60)
        (bit,) = editor.progress["more"]
        assert [(item["uri"].rpartition("/")[2], item["items"]) for item in bit["items"]] == [("uses.py", [])]


async def test_only_where_it_is_wanted_and_it_can_be_cancelled(folder: Path) -> None:
    async with editing(VS_CODE_NOW, REAL, folder=folder) as editor:
        report = await asyncio.wait_for(ask(editor), 30)
        assert not report.items
        waiting = ask(editor, token="bits")
        await asyncio.sleep(0.5)
        (number,) = editor.client.protocol._request_futures
        editor.client.cancel_request(types.CancelParams(id=number))
        with pytest.raises(JsonRpcException, match="cancel"):
            await asyncio.wait_for(waiting, 2)


@needs_proc
async def test_a_client_that_waits_is_told(folder: Path) -> None:
    async with editing(VS_CODE, REAL, folder=folder, options=MODE) as editor:
        editor.client.set_configuration(MODE, section="gradsense")
        faulty, uses = (folder / "faulty.py").as_uri(), (folder / "uses.py").as_uri()
        assert [one.code for one in await editor.diagnostics(faulty, 60)] == ["GS201"]
        assert [one.code for one in await editor.diagnostics(uses, 60)] == ["GS201"]
        editor.open(faulty, "import torch\n")
        assert await editor.diagnostics(faulty) == []
        editor.close(faulty)
        while not (again := await editor.diagnostics(faulty, 60)):
            pass
        assert [one.code for one in again] == ["GS201"], "the file on disk is as it was"
        (folder / "faulty.py").unlink()
        tell(editor, folder / "faulty.py")
        assert await editor.diagnostics(faulty, 60) == []
        assert any("4/4" in str(value) for bits in editor.progress.values() for value in bits)
        children = children_of(editor.pid)
        assert len(children) == 2
        assert await editor.quit() == 0
        assert await gone(children)


async def test_the_person_can_stop_it(folder: Path) -> None:
    for number in range(40):
        (folder / f"more_{number}.py").write_text(FAULTY)
    async with editing(VS_CODE_NOW, REAL, folder=folder, options=MODE) as editor:
        editor.client.set_configuration(MODE, section="gradsense")
        waiting = ask(editor)
        while not editor.progress.get("work"):
            await asyncio.sleep(0.01)
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token="work"))
        report = await asyncio.wait_for(waiting, 60)
        assert len(report.items) < 42
        assert editor.progress["work"][-1]["kind"] == "end"
