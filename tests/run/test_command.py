"""`gradsense run` as a person or a pipeline types it, with a real torch."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jsonschema
import pytest

from gradsense.cli.main import main
from gradsense.run.report import Fault, Report, Silent

SCHEMA = Path(__file__).parents[2] / "docs" / "run-report.schema.json"
Captured = pytest.CaptureFixture[str]

IN_PLACE = """\
import torch
from torch import nn

model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    print("step", step)
    gate = torch.sigmoid(model(torch.randn(8, 4)))
    gate += 1
    loss = gate.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CLEAN = IN_PLACE.replace("gate += 1", "gate = gate + 1")
LEAK = CLEAN.replace("for step", "history = []\nfor step") + "    history.append(loss)\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forking_environment: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(forking_environment))
    return tmp_path


@pytest.fixture
def started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the tests runs the step, as a user's does."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    """Runs the command; gives the exit code, standard output and standard error."""
    code = main(["run", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def report_of(capsys: Captured, *arguments: str) -> Any:
    """The report in JSON, which must be all that is on standard output."""
    return json.loads(run(capsys, "--output-format", "json", *arguments)[1])


@pytest.mark.usefixtures("started_anew")
def test_the_three_lines_in_json(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(IN_PLACE)
    code, out, err = run(capsys, "train.py", "--output-format", "json")
    report = json.loads(out)
    assert code == 1
    assert err == "step 0\n"
    assert list(report) == [
        *("outcome", "error", "walk", "saved", "written", "freed", "passes", "holders", "device", "torch", "cost"),
        *("predictions", "forward_traceback", "backward_traceback", "silent", "verdict", "output", "loss", "notes"),
    ]
    jsonschema.validate(report, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert report["outcome"] == "raises" and report["error"]["type"] == "RuntimeError"
    assert report["walk"] == {"path": "train.py", "line": 12}
    assert (report["saved"]["path"], report["saved"]["line"], report["saved"]["op"]) == ("train.py", 8, "sigmoid")
    assert [(spot["path"], spot["line"], spot["op"]) for spot in report["written"]] == [("train.py", 9, "add_")]
    assert report["torch"] and report["device"] == "cpu" and report["output"] == "step 0\n"
    assert [frame["line"] for frame in report["backward_traceback"] if frame["user"]] == [12]


def test_the_three_lines_for_a_person(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(IN_PLACE)
    code, out, _ = run(capsys, "train.py")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "train.py:12 raises"
    assert "modified by an inplace operation" in lines[1]
    for line, under in ((8, "saved by `sigmoid`"), (9, "written in place by `add_`"), (12, "RuntimeError surfaces")):
        number = next(index for index, text in enumerate(lines) if text.startswith(f"{line:>4} | "))
        assert under in lines[number + 1] and ("^^^" if line == 12 else "---") in lines[number + 1]
    assert "site-packages" not in out.replace(sys.prefix, "")
    assert "ran on" in lines[-1] or any("ran on" in text for text in lines)
    _, whole, _ = run(capsys, "train.py", "--traceback")
    assert "backward traceback" in whole and "torch/autograd" in whole


def test_a_graph_that_grows(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(LEAK)
    code, out, _ = run(capsys, "train.py", "--assert-no-growth")
    assert code == 1
    assert out.splitlines()[0] == "train.py:15 grows"
    assert "held by   `history`, stored at train.py:15" in out
    assert "predicted GS302 at train.py:15: confirmed" in out
    assert "the graph grows from pass to pass" in out and "nodes alive" in out and "█" in out
    report = report_of(capsys, "train.py", "--passes", "5")
    assert report["outcome"] == report["verdict"] == "grows"
    nodes = [row["nodes"] for row in report["passes"]]
    assert len(nodes) == 5 and nodes == sorted(set(nodes))
    assert report["holders"] == [{"name": "history", "path": "train.py", "line": 15}]


def test_a_clean_step(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(CLEAN)
    code, out, err = run(capsys, "train.py", "--assert-clean", "--assert-no-growth")
    assert code == 0
    assert out.splitlines()[0] == "train.py clean"
    assert "steady" in out and err == "step 0\nstep 1\nstep 2\n"


@pytest.mark.parametrize(
    ("report", "plain", "clean", "growth"),
    [
        (Report("clean", verdict="steady"), 0, 0, 0),
        (Report("clean", verdict="none"), 0, 0, 2),
        (Report("clean", verdict="steady", silent=(Silent("train.py", 3, "wrong"),)), 1, 1, 0),
        (Report("raises", Fault("RuntimeError", "…"), verdict="none"), 1, 1, 2),
        (Report("raises", Fault("RuntimeError", "…"), verdict="steady"), 1, 1, 0),
        (Report("nan", Fault("RuntimeError", "…"), verdict="none"), 1, 1, 2),
        (Report("grows", verdict="grows"), 1, 1, 1),
        (Report("failed", Fault("ValueError", "…"), verdict="grows"), 1, 1, 1),
        (Report("failed", Fault("ValueError", "…")), 2, 2, 2),
        (Report("timeout", Fault("Timeout", "…")), 2, 2, 2),
    ],
    ids=lambda value: f"{value.outcome}-{value.verdict}" if isinstance(value, Report) else "",
)
def test_exit_codes(
    report: Report, plain: int, clean: int, growth: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "train.py").write_text(CLEAN)
    monkeypatch.setattr("gradsense.cli.running._run", lambda *_: report)
    assert main(["run", "train.py", "--output-format", "json"]) == plain
    assert main(["run", "train.py", "--assert-clean"]) == clean
    assert main(["run", "train.py", "--assert-no-growth"]) == growth
    assert main(["run", "train.py", "--assert-no-growth", "--assert-clean"]) == clean


def test_a_module_runs_as_by_python_m(here: Path, capsys: Captured) -> None:
    (here / "pkg").mkdir()
    (here / "pkg" / "__init__.py").write_text("print('package')\n")
    (here / "pkg" / "other.py").write_text("value = 5\n")
    (here / "pkg" / "train.py").write_text(
        "import sys\nfrom . import other\nfrom .other import value\n"
        "print(__name__, __package__, __spec__.name, value, sys.argv, sys.path[0])\n"
    )
    (here / "pkg" / "__main__.py").write_text("from .train import value\nprint(__spec__.name)\n")
    told = subprocess.run([sys.executable, "-m", "pkg.train", "--lr", "3"], capture_output=True, text=True).stdout
    assert report_of(capsys, "-m", "pkg.train", "--", "--lr", "3")["output"] == told
    assert "__main__ pkg pkg.train 5" in told
    report = report_of(capsys, "-m", "pkg")
    assert report["outcome"] == "clean" and report["output"].endswith("\npkg.__main__\n")
    code, _, err = run(capsys, "-m", "pkg.nothing")
    assert code == 2 and f"there is no module pkg.nothing with source in {here}" in err
    for arguments in ((), ("-m", "pkg", "train.py")):
        with pytest.raises(SystemExit):
            main(["run", *arguments])


def test_a_fix_is_tried_on_a_copy(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(IN_PLACE)
    code, out, _ = run(capsys, "train.py", "--with-fix", "GS201:9")
    assert code == 0 and out.startswith("train.py clean\n")
    assert "with “Write `gate` out of place” the step is clean, and the loss of the first walk is the same as" in out
    assert (here / "train.py").read_text() == IN_PLACE
    (here / "train.py").write_text(LEAK)
    report = report_of(capsys, "train.py", "--with-fix", "gs302")
    assert report["fix"]["clean"] and report["fix"]["same_loss"] and len(report["fix"]["loss_before"]) == 3
    jsonschema.validate(report, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_a_fix_that_cannot_be_tried_is_told_before_anything_is_run(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(LEAK.replace("history = []", "history, more = [], []") + "    more.append(loss)\n")
    for wanted, words in [
        ("everything", "takes a code, or a code and a line, such as GS201:17"),
        ("GS101", "GS101 is not found in "),
        ("GS302:3", "to be fixed is GS302:15, GS302:16"),
        ("GS302", "is found 2 times; say which: --with-fix GS302:15 or GS302:16"),
    ]:
        code, out, err = run(capsys, "train.py", "--with-fix", wanted)
        assert (code, out) == (2, "") and words in err, err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals there")
def test_on_a_terminal_it_says_what_it_is_at_and_json_stays_clean(here: Path) -> None:
    import pty

    (here / "train.py").write_text(CLEAN.replace('    print("step", step)\n', ""))
    master, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "gradsense", "run", "train.py", "--output-format", "json"]
    shown: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # how a terminal tells that nobody writes to it any more
            while data := os.read(master, 4096):
                shown.append(data)

    reader = threading.Thread(target=read)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        reader.start()
        out, _ = process.communicate()
    reader.join()
    os.close(master)
    assert json.loads(out)["outcome"] == "clean"
    text = b"".join(shown).decode()
    assert "train.py: importing torch" in text and "train.py: pass 3 of the loop on line 6" in text
    assert text.rstrip().endswith("\x1b[2K")  # the line was taken away


def test_growth_that_cannot_be_judged_is_no_success(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text("import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    code, _, err = run(capsys, "train.py", "--assert-no-growth")
    assert code == 2 and "nothing is known about growth" in err


def test_a_function_is_called_with_or_without_arguments(here: Path, capsys: Captured) -> None:
    body = indent(CLEAN, "    ")
    text = f"def train(rate=1):\n{body}    print('rate', rate)\n\nif __name__ == '__main__':\n    print('main')\n"
    (here / "train.py").write_text(text)
    assert report_of(capsys, "train.py:5")["output"].endswith("rate 1\n")
    assert report_of(capsys, "train.py", "--call", "train(rate=7)")["output"].endswith("rate 7\n")
    assert report_of(capsys, "train.py")["output"] == "main\n"


def test_standard_input_runs_as_if_it_were_the_file(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "package").mkdir()
    (here / "package" / "helper.py").write_text("value = 5\n")
    text = b"import helper, sys\nprint(helper.value, __file__, sys.argv[1:])\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    path = os.path.join("package", "train.py")
    report = report_of(capsys, "-", "--path", path, "--", "--lr", "1")
    assert report["output"] == f"5 {here / path} ['--lr', '1']\n"


def test_a_cell_of_a_notebook_runs_with_those_before_it(here: Path, capsys: Captured) -> None:
    sources = [
        "%matplotlib inline\n!pip install einops\nimport torch\nx = torch.ones(2, requires_grad=True)",
        "y = x.exp()\ny += 1\ny.sum().backward()",
        "raise SystemExit(3)",
    ]
    cells = [{"cell_type": "markdown", "source": "# Title", "metadata": {}}]
    cells += [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in sources]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (here / "a.ipynb").write_text(json.dumps(document))
    report = report_of(capsys, "a.ipynb:3")
    assert report["outcome"] == "raises"
    assert report["walk"] == {"path": "a.ipynb", "line": 3, "cell": 2}
    assert [(spot["cell"], spot["line"]) for spot in (report["saved"], *report["written"])] == [(2, 1), (2, 2)]
    _, out, _ = run(capsys, "a.ipynb:cell 3")
    assert out.startswith("a.ipynb:cell 3:3 raises\n")
    assert "cell 2, line 2 was left out: `!pip install einops`" in out
    code, _, err = run(capsys, "a.ipynb:9")
    assert code == 2 and "has no cell 9 with Python in it; those that have: 2, 3, 4" in err


def test_the_settings_of_the_project_and_what_wins_over_them(here: Path, capsys: Captured) -> None:
    (here / "data").mkdir()
    (here / "pyproject.toml").write_text(
        dedent(
            """\
            [tool.gradsense.run]
            args = ["--epochs", "2"]
            cwd = "data"
            passes = 2
            env = { NAME = "file" }
            """
        )
    )
    text = "import os, sys\nprint(sys.argv[1:], os.environ['NAME'], os.path.basename(os.getcwd()))\n"
    (here / "train.py").write_text(text)
    assert report_of(capsys, "train.py")["output"] == "['--epochs', '2'] file data\n"
    report = report_of(capsys, "train.py", "--env", "NAME=option", "--cwd", ".", "--", "-v")
    assert report["output"] == f"['-v'] option {here.name}\n"


def test_what_cannot_be_run_is_told_with_what_to_do(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(CLEAN)
    bare = here / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    for arguments, words in [
        (("train.py", "--python", str(bare)), "torch is not installed in"),
        (("train.py:999",), "has no line 999"),
        (("nothing.py",), "no such file or folder"),
        ((".",), "is a folder; name the script"),
        (("train.py", "--cwd", "nowhere"), "is not there; choose another with --cwd"),
    ]:
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "") and words in err, err
        report = report_of(capsys, *arguments)
        assert report["outcome"] == "failed" and words in report["error"]["message"]


def test_how_a_run_went_wrong_is_told_with_what_to_do(here: Path, capsys: Captured) -> None:
    for name, text, words in [
        ("missing.py", "import module_that_is_nowhere\n", "`module_that_is_nowhere` is not installed in"),
        ("crash.py", "import os\nos._exit(3)\n", "the program ended the interpreter with status 3"),
        ("data.py", "open('data.csv')\n", f"the working folder is {here}"),
        ("broken.py", "import torch\nif:\n", "invalid syntax"),
    ]:
        (here / name).write_text(text)
        code, out, _ = run(capsys, name)
        assert code == 2 and words in out, out
    (here / "slow.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    code, out, _ = run(capsys, "slow.py", "--time-limit", "1")
    assert code == 2 and "slow.py timeout" in out and "not over after 1 s" in out and "line 3" in out


def test_wrong_usage_is_told_before_anything_is_run(capsys: Captured) -> None:
    for arguments in (
        ("train.py", "--passes", "0"),
        ("train.py", "--device", "tpu"),
        ("train.py", "--env", "NAME"),
        (),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["run", *arguments])
        assert caught.value.code == 2
        assert "usage: gradsense run" in capsys.readouterr().err


DISTRIBUTED = """\
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
rank = dist.get_rank()
print("hello from", rank)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    gate = torch.sigmoid(model(torch.randn(8, 4)))
    if rank == FAULTY:
        gate += 1
    loss = gate.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the launcher is another there")
@pytest.mark.usefixtures("started_anew")
def test_a_distributed_step_is_reported_rank_by_rank(here: Path, capsys: Captured) -> None:
    (here / "train.py").write_text(DISTRIBUTED.replace("FAULTY", "1"))
    code, out, err = run(capsys, "train.py", "--nproc-per-node", "2", "--output-format", "json")
    report = json.loads(out)
    assert code == 1
    assert "rank 0: hello from 0" in err and "rank 1: hello from 1" in err
    assert report["outcome"] == "raises" and report["written"][0]["line"] == 13
    first, second = report["ranks"]
    assert second["outcome"] == "raises" and second["saved"]["line"] == 11
    assert first["outcome"] in ("raises", "failed") and first["saved"] is None
