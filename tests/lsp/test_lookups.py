"""Names of other packages: looked up beside the analysis, which goes on with what is found out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradsense.lsp import lookups
from gradsense.lsp.backend import Backend
from gradsense.lsp.lookups import LookUps
from gradsense.lsp.messages import Done, Learn
from gradsense.lsp.settings import EditorSettings
from gradsense.machine.outside import Kind
from lsp.editor import REAL, Editor, editing

NETS = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
"""
TRAIN = """\
import torch
import torch.nn.functional as F
import nets

model = nets.Net()
opt = torch.optim.SGD(model.parameters(), 0.1)
out = model(torch.randn(4, 3))
for y in range(3):
    opt.zero_grad()
    F.mse_loss(out, torch.zeros(4, 3)).backward()
    opt.step()
"""


class FakeSession:
    """As much of a session as looking up needs; `told` is what the analysis learnt."""

    def __init__(self) -> None:
        self.shut_down = False
        self.settings = EditorSettings()
        self.told: list[Learn] = []

    def root_of(self, program: Any) -> str:
        return "/work"

    def settings_of(self, program: Any) -> EditorSettings:
        return self.settings

    async def ask(self, request: Learn, kind: Any) -> Done:
        self.told.append(request)
        return Done()


class Looking:
    """Looks up with a fake worker."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lookups, "_SETTLE_SECONDS", 0.01)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(Path(__file__).parents[1])]))
        monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
        self.session = FakeSession()
        self.learnt: list[str] = []
        session: Any = self.session
        self.lookups = LookUps(session, self.learnt.append, lambda: Backend("lsp.fake_types:FakeTypes", 0.5))

    async def __aenter__(self) -> Looking:
        self.task = asyncio.get_running_loop().create_task(self.lookups.run())
        return self

    async def __aexit__(self, *args: object) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task
        self.lookups.close()

    def ask(self, *names: str) -> None:
        program: Any = None
        self.lookups.ask(program, names)

    async def until(self, done: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not done():
                await asyncio.sleep(0.02)

        await asyncio.wait_for(wait(), 90)

    def known(self) -> dict[str, Kind]:
        return {name: known.kind for name, known in self.session.told[-1].known.items()} if self.session.told else {}


@pytest.mark.asyncio
async def test_a_worker_that_hangs_or_dies_costs_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradsense.lsp.backend.START_LIMIT", 20.0)
    async with Looking(monkeypatch) as looking:
        looking.ask("first", "hang.Net", "die.Net", "raise.Net", "net.Net")
        await looking.until(lambda: "net.Net" in looking.known())
        assert looking.known() == {
            "first": Kind.OTHER,
            "hang.Net": Kind.OTHER,
            "die.Net": Kind.OTHER,
            "raise.Net": Kind.OTHER,
            "net.Net": Kind.NETWORK,
        }
        assert looking.learnt == ["/work"]


@pytest.mark.asyncio
async def test_each_name_is_looked_up_once_and_told_again_to_a_new_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Looking(monkeypatch) as looking:
        looking.ask("net.Net")
        await looking.until(lambda: len(looking.session.told) == 1)
        pid = looking.lookups.pid
        looking.lookups.close()
        looking.ask("net.Net")
        await looking.until(lambda: len(looking.session.told) == 2)
        assert looking.lookups.pid is None and pid is not None
        assert looking.known() == {"net.Net": Kind.NETWORK}


@pytest.mark.asyncio
async def test_what_helps_nobody_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Looking(monkeypatch) as looking:
        looking.ask("other.Thing")
        await looking.until(lambda: looking.lookups.pid is not None)
        looking.ask("net.Net")
        await looking.until(lambda: bool(looking.session.told))
        assert len(looking.session.told) == 1


@pytest.mark.asyncio
async def test_the_worker_is_ended_when_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "IDLE_SECONDS", 0.3)
    async with Looking(monkeypatch) as looking:
        looking.ask("net.Net")
        await looking.until(lambda: bool(looking.session.told))
        await looking.until(lambda: looking.lookups.pid is None)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment of the person's with a package in it, and something that passes for torch."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [site] = folder.glob("lib/python*/site-packages") or folder.glob("Lib/site-packages")
    (site / "nets.py").write_text(NETS)
    (site / "huge.py").write_text("".join(f"class C{n}(C{n - 1}): x = {n}\n" for n in range(1, 60_000)))
    (site / "torch-2.13.0.dist-info").mkdir()
    (site / "torch-2.13.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    (site / "marks.pth").write_text("import os; open(os.environ['GRADSENSE_MARK'], 'w').close()\n")
    return folder


async def codes(editor: Editor, uri: str) -> list[Any]:
    """The codes of the next publication."""
    return [one.code for one in await editor.diagnostics(uri, 60)]


@pytest.mark.asyncio
async def test_findings_get_better_when_the_answer_is_there(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADSENSE_MARK", str(tmp_path / "started"))
    options = {"interpreter": str(environment)}
    async with editing(command=REAL, folder=tmp_path, options=options) as editor:
        uri = (tmp_path / "train.py").as_uri()
        editor.open(uri, TRAIN)
        assert "GS105" not in await codes(editor, uri)
        while "GS105" not in await codes(editor, uri):
            pass
    assert (tmp_path / "started").exists()


@pytest.mark.asyncio
async def test_the_interpreter_of_an_untrusted_workspace_is_not_started(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADSENSE_MARK", str(tmp_path / "started"))
    options = {"interpreter": str(environment), "trusted": False}
    async with editing(command=REAL, folder=tmp_path, options=options) as editor:
        uri = (tmp_path / "train.py").as_uri()
        editor.open(uri, TRAIN)
        await codes(editor, uri)
        await asyncio.sleep(3)
        assert not [one for one in editor.published if any(d.code == "GS105" for d in one.diagnostics)]
    assert not (tmp_path / "started").exists()


@pytest.mark.asyncio
async def test_a_huge_package_holds_nothing_up(
    tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADSENSE_MARK", str(tmp_path / "started"))
    options = {"interpreter": str(environment)}
    async with editing(command=REAL, folder=tmp_path, options=options) as editor:
        uri = (tmp_path / "train.py").as_uri()
        text = TRAIN.replace("import nets\n", "import nets, huge\nother = huge.C59999()\n")
        editor.open(uri, text)
        while "GS105" not in await codes(editor, uri):
            pass
        editor.rewrite(uri, "import torch\nw = torch.zeros(3, requires_grad=True)\nw += 1\n")
        while "GS203" not in await codes(editor, uri):
            pass
