"""A cell that the client runs in the notebook's kernel: what the server has it execute, and what it shows of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.editor import REAL, editing
from lsp.running import Runs
from lsp.test_run_step import at, capabilities
from run.kernels import Kernel

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

CELLS = (
    ("markdown", "# Title"),
    "import torch\nx = torch.ones(2, requires_grad=True)",
    "def fault(x):\n    y = x.exp()\n    y += 1\n    return y",
    "fault(x).sum().backward()",
)


class Client:
    """Stands in for an editor that reaches a kernel."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.kernel: Kernel | None = None
        self.asked: list[Any] = []

        @runs.editor.client.feature("gradsense/executeInKernel")
        async def execute(params: Any) -> str | None:
            self.asked.append(params)
            if self.kernel is None:
                return None
            shown, _ = await asyncio.to_thread(self.kernel.execute, params.code, history=False)
            return next(json.dumps(found[params.reportKind]) for found in shown if params.reportKind in found)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("workspace")
    async with editing(command=REAL, folder=folder, capabilities=capabilities()) as editor:
        yield Client(Runs(editor))


async def test_the_story_is_shown_in_the_cells_though_the_kernel_knows_them_by_other_names(
    client: Client, tmp_path: Path
) -> None:
    runs = client.runs
    cells = runs.editor.open_notebook((tmp_path / "fit.ipynb").as_uri(), *CELLS)
    client.kernel = kernel = await asyncio.to_thread(Kernel)
    try:
        for _, source in enumerate(CELLS[1:3]):
            await asyncio.to_thread(kernel.execute, str(source))
        report = await runs.run((tmp_path / "fit.ipynb").as_uri(), cell=cells[3], kernel="keep")
    finally:
        kernel.end()
    assert report["outcome"] == "raises"
    assert report["walk"] == {"path": cells[3], "line": 1}
    assert (report["saved"]["path"], report["saved"]["line"]) == (cells[2], 2)
    assert (report["written"][0]["path"], report["written"][0]["line"]) == (cells[2], 3)
    drawn = {at(found, runs.editor, cells[2]) for found in await runs.shown(cells[2])}
    assert drawn == {"y = x.exp()", "y += 1"}
    assert [found.severity for found in await runs.shown(cells[3])] == [types.DiagnosticSeverity.Error]
    assert any("RuntimeError" in str(hint.label) for hint in await runs.inlays(cells[3]))
    # No process was started for it.
    assert runs.workers() == []


async def test_a_kernel_that_tells_nothing_is_told_in_words(client: Client, tmp_path: Path) -> None:
    notebook = (tmp_path / "other.ipynb").as_uri()
    cells = client.runs.editor.open_notebook(notebook, *CELLS)
    client.kernel = None
    report = await client.runs.run(notebook, cell=cells[1], kernel="keep")
    assert report["outcome"] == "failed" and "kernel was interrupted" in report["error"]["message"]


async def test_only_cells_run_in_kernels(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "train.py").as_uri()
    client.runs.editor.open(uri, "import torch\n")
    with pytest.raises(JsonRpcException, match="goes with the `cell` of a notebook"):
        await client.runs.run(uri, kernel="keep")


async def test_nothing_is_asked_of_a_client_where_nothing_is_trusted(tmp_path: Path) -> None:
    options = {"trusted": False}
    async with editing(command=REAL, folder=tmp_path, options=options, capabilities=capabilities()) as editor:
        client = Client(Runs(editor))
        notebook = (tmp_path / "fit.ipynb").as_uri()
        cells = editor.open_notebook(notebook, *CELLS)
        with pytest.raises(JsonRpcException, match="not trusted"):
            await client.runs.run(notebook, cell=cells[1], kernel="keep")
        assert client.asked == []
