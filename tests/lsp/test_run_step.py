"""Running a step from an editor, with a real torch: what it is told, what is drawn, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.editor import REAL, VS_CODE, Editor, editing, span
from lsp.running import Runs, plain
from lsp.test_lifecycle import gone
from run.forking import forking_environment

__all__ = ["forking_environment"]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

IN_PLACE = """\
import torch
from torch import nn

model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    gate = torch.sigmoid(model(torch.randn(8, 4)))
    gate += 1
    loss = gate.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MENDED = IN_PLACE.replace("gate += 1", "gate = gate + 1")
LEAK = """\
import torch
from torch import nn

model = nn.Linear(4, 4)
history = []
for step in range(100):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    history.append(loss)
"""
ENDLESS = """\
import subprocess, sys, time
import torch
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
weight = torch.ones(2, requires_grad=True)
for step in range(3):
    weight.sum().backward()
time.sleep(600)
"""


def capabilities() -> types.ClientCapabilities:
    """An editor that can do all that a run makes use of, and is told of diagnostics."""
    from lsp.clients import capabilities_of

    told = capabilities_of(VS_CODE)
    told.window = told.window or types.WindowClientCapabilities()
    told.window.work_done_progress = True
    told.window.show_message = types.ShowMessageRequestClientCapabilities()
    told.workspace = told.workspace or types.WorkspaceClientCapabilities()
    told.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    return told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory, forking_environment: Path) -> AsyncIterator[Runs]:
    """One server for the tests of what a run tells, with a Python that starts at once."""
    folder = tmp_path_factory.mktemp("workspace")
    patch = pytest.MonkeyPatch()
    patch.setenv("VIRTUAL_ENV", str(forking_environment))
    async with editing(command=REAL, folder=folder, capabilities=capabilities()) as editor:
        patch.undo()  # other servers have the Python of the tests
        yield Runs(editor)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session_with_real_python(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    """One server for the tests of the processes that run a step: from the second run on, an interpreter is ready."""
    folder = tmp_path_factory.mktemp("workspace")
    async with editing(command=REAL, folder=folder, capabilities=capabilities()) as editor:
        yield Runs(editor)


@pytest.fixture
def runs(session: Runs) -> Runs:
    session.forget()
    return session


@pytest.fixture
def processes(session_with_real_python: Runs) -> Runs:
    session_with_real_python.forget()
    return session_with_real_python


def uri_of(runs: Runs, folder: Path, text: str, name: str = "train.py") -> str:
    """Opens a script that is not on disk."""
    uri = (folder / name).as_uri()
    runs.editor.open(uri, text)
    return uri


def at(diagnostic: types.Diagnostic, editor: Editor, uri: str) -> str:
    return editor.covered(uri, diagnostic.range)


async def test_the_three_lines_are_shown_until_the_next_edit(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, IN_PLACE)
    report = await runs.run(uri, token="mine")
    assert report["outcome"] == "raises"
    assert [report["saved"]["line"], report["written"][0]["line"], report["walk"]["line"]] == [7, 8, 11]

    assert [(found["code"], found["line"], found["verdict"]) for found in report["predictions"]] == [
        ("GS201", 8, "confirmed")
    ]

    drawn = {at(found, runs.editor, uri): found for found in await runs.shown(uri)}
    assert set(drawn) == {"gate = torch.sigmoid(model(torch.randn(8, 4)))", "gate += 1", "loss.backward()"}
    error = drawn["loss.backward()"]
    assert error.severity is types.DiagnosticSeverity.Error
    assert "modified by an inplace operation" in error.message
    assert [other.location.range.start.line for other in error.related_information or ()] == [6, 7]

    behind = {hint.position.line: str(hint.label) for hint in await runs.inlays(uri)}
    assert behind.keys() == {6, 7, 10} and "sigmoid" in behind[6] and "written" in behind[7]
    assert runs.inlay_refreshes

    hover = await runs.editor.hover(uri, 10, 6)
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert "Backward traceback" in hover.contents.value and "line 11: loss.backward()" in hover.contents.value
    assert "of torch and other libraries" in hover.contents.value and "site-packages" not in hover.contents.value

    await runs.told(lambda: len(runs.finished) == 1)
    steps = [value["kind"] for value in runs.progress]
    assert steps[0] == "begin" and steps[-1] == "end" and "report" in steps

    runs.editor.edit(uri, (span(0, 0, 0, 0), "# a comment\n"))
    await runs.editor.barrier()
    await runs.told(lambda: bool(runs.editor.published))
    assert await runs.shown(uri) == []
    assert await runs.inlays(uri) == []
    hover = await runs.editor.hover(uri, 11, 6)
    assert hover is None or "traceback" not in str(hover.contents)


async def test_a_leak_is_shown_and_cleared_on_request(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, LEAK)
    report = await runs.run(uri)
    assert report["outcome"] == "grows" and report["verdict"] == "grows"
    assert any("train.py: the graph grows" in message.message for message in runs.editor.client.messages)
    assert [(holder["name"], holder["line"]) for holder in report["holders"]] == [("history", 9)]
    assert {at(found, runs.editor, uri) for found in await runs.shown(uri)} == {"history.append(loss)"}
    await runs.told(lambda: len(runs.finished) == 1)
    params = types.ExecuteCommandParams(command="gradsense.clearRun", arguments=[{"uri": uri}])
    await runs.editor.client.workspace_execute_command_async(params)
    assert await runs.shown(uri) == [] and await runs.inlays(uri) == []


async def test_what_is_typed_is_what_runs(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def act(x):\n    return x.exp()\n")
    script = tmp_path / "train.py"
    script.write_text("raise SystemExit('the file on disk')\n")
    runs.editor.open((tmp_path / "helper.py").as_uri(), "def act(x):\n    y = x.exp()\n    y += 1\n    return y\n")
    uri = uri_of(
        runs,
        tmp_path,
        "import torch\nfrom helper import act\nx = torch.ones(2, requires_grad=True)\nact(x).sum().backward()\n",
    )
    report = await runs.run(uri)
    assert report["outcome"] == "raises"
    assert os.path.basename(report["saved"]["path"]) == "helper.py" and report["saved"]["line"] == 2
    helper = (tmp_path / "helper.py").as_uri()
    assert {at(found, runs.editor, helper) for found in await runs.shown(helper)} == {"y = x.exp()", "y += 1"}


async def test_a_function_is_called_and_a_call_that_is_given(runs: Runs, tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in MENDED.splitlines())
    uri = uri_of(runs, tmp_path, f"def train(rate=1):\n{body}    print('rate', rate)\n")
    assert (await runs.run(uri, line=3))["output"] == "rate 1\n"
    assert (await runs.run(uri, call="train(rate=5)"))["output"] == "rate 5\n"
    assert (await runs.run(uri))["output"] == ""


@pytest.mark.parametrize("way", ["request", "progress"])
async def test_a_run_is_cancelled_with_all_that_it_started(processes: Runs, tmp_path: Path, way: str) -> None:
    uri = uri_of(processes, tmp_path, ENDLESS)
    number, answer = processes.ask(uri, token="mine")
    await processes.told_progress("pass")
    [worker] = processes.workers()
    group = [pid for pid in _session_of(worker) if pid != worker]
    assert len(group) == 1
    if way == "request":
        processes.cancel(number)
    else:
        processes.editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token="mine"))
    with pytest.raises(JsonRpcException) as caught:
        pytest.fail(str(plain(await asyncio.wait_for(answer, 30))))
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    assert await gone([worker, *group])
    assert await processes.shown(uri) == []
    report = await processes.run(uri_of(processes, tmp_path, MENDED, "other.py"))
    assert report["outcome"] == "clean"


async def test_a_second_run_of_a_program_replaces_the_first(processes: Runs, tmp_path: Path) -> None:
    uri = uri_of(processes, tmp_path, ENDLESS)
    _, first = processes.ask(uri)
    await processes.told_progress("pass")
    processes.editor.rewrite(uri, MENDED)
    report = await processes.run(uri)
    assert report["outcome"] == "clean"
    with pytest.raises(JsonRpcException):
        await asyncio.wait_for(first, 30)


async def test_runs_of_two_programs_wait_for_each_other(processes: Runs, tmp_path: Path) -> None:
    both = [uri_of(processes, tmp_path, MENDED, name) for name in ("one.py", "two.py")]
    reports = await asyncio.gather(*(processes.run(uri) for uri in both))
    assert [report["outcome"] for report in reports] == ["clean", "clean"]


async def test_an_edit_during_the_run_leaves_its_story_out(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, IN_PLACE.replace("gate += 1", "if step: __import__('time').sleep(3); gate += 1"))
    _, answer = runs.ask(uri, token="mine")
    await runs.told_progress("pass 1")
    runs.editor.edit(uri, (span(0, 0, 0, 0), "# a comment\n"))
    report = plain(await asyncio.wait_for(answer, 120))
    assert report["outcome"] == "raises"
    assert await runs.shown(uri) == []


async def test_nothing_is_run_where_nothing_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("open('ran', 'w')\n")
    options = {"trusted": False}
    async with editing(command=REAL, folder=tmp_path, options=options, capabilities=capabilities()) as editor:
        runs = Runs(editor)
        uri = uri_of(runs, tmp_path, IN_PLACE)
        with pytest.raises(JsonRpcException, match="not trusted"):
            await runs.run(uri)
        assert runs.workers() == []
        [found] = await editor.diagnostics(uri)
        titles = [action.title for action in await editor.actions(uri, found.range, [found])]
        assert titles and not any("run the step" in title for title in titles)


async def test_settings_say_how_it_is_run(tmp_path: Path) -> None:
    text = "import os, sys\nprint(sys.argv[1:], os.environ['NAME'], os.getcwd())\n"
    options = {"run": {"args": ["--lr", "1"], "env": {"NAME": "here"}, "cwd": "sub", "timeLimit": 50}}
    (tmp_path / "sub").mkdir()
    async with editing(command=REAL, folder=tmp_path, options=options, capabilities=capabilities()) as editor:
        runs = Runs(editor)
        report = await runs.run(uri_of(runs, tmp_path, text))
        assert report["output"] == f"['--lr', '1'] here {tmp_path / 'sub'}\n"


async def test_an_interpreter_without_torch_is_told_in_words(tmp_path: Path) -> None:
    import subprocess

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    options = {"interpreter": [str(tmp_path / "bare" / "bin" / "python")]}
    async with editing(command=REAL, folder=tmp_path, options=options, capabilities=capabilities()) as editor:
        runs = Runs(editor)
        report = await runs.run(uri_of(runs, tmp_path, MENDED))
        assert report["outcome"] == "failed"
        assert "torch is not installed in" in report["error"]["message"]
        assert any("torch is not installed in" in message.message for message in editor.client.messages)


async def test_a_fix_is_tried_on_a_copy_and_applied_on_request(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, IN_PLACE)
    [found] = await runs.editor.diagnostics(uri)
    actions = await runs.editor.actions(uri, found.range, [found], only=["quickfix"])
    [action] = [action for action in actions if action.title.startswith("Try on a copy")]
    assert action.command is not None and action.command.arguments is not None
    runs.answer = "Apply the fix"
    report = await runs.run(**action.command.arguments[0])
    assert report["outcome"] == "clean"
    assert report["fix"]["clean"] is True and report["fix"]["code"] == "GS201"
    await runs.told(lambda: bool(runs.applied))
    assert "is clean" in runs.questions[0].message
    assert "gate += 1" not in runs.editor.texts[uri]
    assert await runs.shown(uri) == []


async def test_a_fix_that_keeps_the_losses_is_told(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, LEAK)
    [found] = await runs.editor.diagnostics(uri)
    actions = await runs.editor.actions(uri, found.range, [found], only=["quickfix"])
    [action] = [action for action in actions if action.title.startswith("Try on a copy")]
    assert action.command is not None and action.command.arguments is not None
    report = await runs.run(**action.command.arguments[0])
    assert report["outcome"] == "clean" and len(report["loss"]) == 3
    assert report["fix"]["same_loss"] is True and report["fix"]["loss_before"] == pytest.approx(report["loss"])
    await runs.told(lambda: bool(runs.questions))
    assert "is clean, and the losses of the first 3 passes are the same as before" in runs.questions[0].message
    assert runs.editor.texts[uri] == LEAK and not runs.applied


async def test_a_cell_runs_with_those_before_it(runs: Runs, tmp_path: Path) -> None:
    notebook = (tmp_path / "train.ipynb").as_uri()
    cells = runs.editor.open_notebook(
        notebook,
        ("markdown", "# Title"),
        "%matplotlib inline\nimport torch\nx = torch.ones(2, requires_grad=True)",
        "y = x.exp()\ny += 1\ny.sum().backward()",
        "raise SystemExit('a later cell')",
    )
    report = await runs.run(notebook, cell=cells[2], line=0)
    assert report["outcome"] == "raises"
    drawn = {at(found, runs.editor, cells[2]) for found in await runs.shown(cells[2])}
    assert drawn == {"y = x.exp()", "y += 1", "y.sum().backward()"}
    assert report["walk"] == {"path": cells[2], "line": 3}
    assert (report["written"][0]["path"], report["written"][0]["line"]) == (cells[2], 2)
    runs.editor.edit(cells[1], (span(0, 0, 0, 0), "\n"))
    await runs.editor.barrier()
    assert await runs.shown(cells[2]) == []


async def test_texts_about_a_notebook_name_its_cells(runs: Runs, tmp_path: Path) -> None:
    notebook = (tmp_path / "stale.ipynb").as_uri()
    cells = runs.editor.open_notebook(
        notebook,
        "import torch\nnet = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)",
        ("markdown", "# Training"),
        "for step in range(3):\n    net(torch.ones(1, 2)).sum().backward()\n    opt.step()",
    )
    report = await runs.run(notebook, cell=cells[2])
    [fault] = report["silent"]
    assert (fault["path"], fault["line"]) == (cells[2], 2)
    assert "the step in cell 3, line 3" in fault["what"]
    assert ["in cell 3, line 3" in str(hint.label) for hint in await runs.inlays(cells[2])] == [True]


async def test_nothing_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    async with editing(command=REAL, folder=tmp_path, capabilities=capabilities()) as editor:
        runs = Runs(editor)
        uri = uri_of(runs, tmp_path, ENDLESS)
        _, answer = runs.ask(uri)
        await runs.told_progress("pass")
        [worker] = runs.workers()
        pids = _session_of(worker)
        os.kill(editor.pid, 9)
        assert await gone(pids)
        answer.cancel()


async def test_a_session_that_ends_takes_its_run_and_what_is_kept_ready_with_it(tmp_path: Path) -> None:
    async with editing(command=REAL, folder=tmp_path, capabilities=capabilities()) as editor:
        runs = Runs(editor)
        assert (await runs.run(uri_of(runs, tmp_path, MENDED)))["outcome"] == "clean"
        kept = runs.workers()
        assert len(kept) == 1
        _, answer = runs.ask(uri_of(runs, tmp_path, ENDLESS, "endless.py"))
        await runs.told_progress("pass")
        workers = runs.workers()
        assert workers == kept
        assert await editor.quit() == 0
        assert await gone([*kept, *workers])
        answer.cancel()


def _session_of(worker: int) -> list[int]:
    """The processes of a worker's session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == worker:
            found.append(int(stat.parent.name))
    return found


async def test_what_is_no_request_is_told(runs: Runs, tmp_path: Path) -> None:
    uri = uri_of(runs, tmp_path, MENDED)
    for argument in ({"uri": "file:///not-open.py"}, {"uri": uri, "line": -1}, {"uri": uri, "device": "tpu"}):
        with pytest.raises(JsonRpcException):
            await runs.run(**argument)
    report = await runs.run(uri, line=500)
    assert report["outcome"] == "failed" and "no line 501" in report["error"]["message"]
