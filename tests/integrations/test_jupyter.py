"""`%%gradsense` in a real kernel and in a terminal's IPython, with a real torch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from docs.blocks import ROOT
from gradsense.syntax.magics import mask
from run.kernels import Kernel, bare_kernel, started

__all__ = ["bare_kernel", "started"]

if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

SETUP = """\
import torch
from torch import nn
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
def train(count):
    for number in range(count):
        opt.zero_grad()
        loss = net(torch.rand(3, 4)).pow(2).sum()
        loss.backward()
        opt.step()
        kept.append(loss)
"""
HTML, PLAIN = "text/html", "text/plain"


@pytest.fixture
def kernel(bare_kernel: Kernel) -> Kernel:
    bare_kernel.execute("%load_ext gradsense")
    assert bare_kernel.execute(SETUP) == ([], "")
    return bare_kernel


def shown(kernel: Kernel, cell: str) -> tuple[str, str, list[dict[str, Any]], str]:
    """The report as HTML and as text, what else was shown, and the text of the streams and of an error."""
    outputs, text = kernel.execute(cell)
    reports = [output for output in outputs if "GradSense" in output.get(HTML, "")]
    assert len(reports) == 1, text
    return reports[0][HTML], reports[0][PLAIN], [output for output in outputs if output not in reports], text


def test_a_function_of_an_earlier_cell_is_cut_and_its_growth_told(kernel: Kernel) -> None:
    html, plain, others, text = shown(
        kernel, "%%gradsense --passes 4 -o report\nx = 5\nprint('begins')\ntrain(100)\nx + 1"
    )
    assert text == "begins\n" and others == [{PLAIN: "6"}]
    assert ">grows</b>" in html and "held by" in html and "kept.append(loss)" in html
    assert "Cell In[" in plain and "]:12 grows\n" in plain and "held by   `kept`" in plain
    assert kernel.ask("[x, len(kept), report.outcome, len(report.passes), torch.is_anomaly_enabled()]") == [
        *(5, 4, "grows", 4, False)
    ]
    kernel.execute("train(7)")
    assert kernel.ask("len(kept)") == 11


def test_the_three_lines_and_the_error_as_without_the_magic(kernel: Kernel) -> None:
    cell = "%%gradsense\n\nh = torch.sigmoid(net(torch.rand(3, 4)))\nh += 1\nh.sum().backward()\nnever = 1\n"
    html, plain, _, text = shown(kernel, cell)
    assert "]:5 raises\n" in plain
    for line, words in ((3, "saved by `sigmoid`"), (4, "written in place by `add_`"), (5, "a RuntimeError surfaces")):
        number = next(n for n, row in enumerate(plain.splitlines()) if row.strip().startswith(f"{line} | "))
        assert words in plain.splitlines()[number + 1] and words in html
    assert text.startswith("RuntimeError: one of the variables needed for gradient computation")
    assert kernel.ask("['h' in globals(), 'never' in globals(), list(h.shape)]") == [True, False, [3, 4]]


def test_the_traceback_shows_the_cell_and_nothing_of_ours(kernel: Kernel) -> None:
    for cell, name, last in (
        ("%%gradsense\nvalue = 1\nnet(torch.rand(3, 5))", "RuntimeError", "F.linear(input, self.weight, self.bias)"),
        ("%%gradsense\nvalue = 1\n1 / 0", "ZeroDivisionError", "1 / 0"),
        ("%%gradsense\nvalue = 1\nif:", "SyntaxError", "if:"),
    ):
        reply, error = kernel.failure(cell)
        assert reply["status"] == "error" and reply["ename"] == error["ename"] == name
        text = re.sub("\x1b\\[[0-9;]*m", "", "\n".join(error["traceback"]))
        assert "gradsense/" not in text and "run_cell_magic" not in text and last in text
        assert "line 3" in text, text


def test_a_semicolon_hides_the_value_and_a_clean_loop_is_clean(kernel: Kernel) -> None:
    cell = "%%gradsense\nfor _ in range(50):\n    net.zero_grad(); net(torch.rand(2, 4)).sum().backward()\n7;"
    html, plain, others, _ = shown(kernel, cell)
    assert others == [] and ">clean</b>" in html
    assert plain.startswith("Cell In[") and "ran clean, 3 passes" in plain and "steady" in plain


def test_models_optimizers_and_random_numbers_are_put_back(kernel: Kernel) -> None:
    state = "[net.weight.tolist(), net.weight.grad is None, torch.get_rng_state().sum().item()]"
    before = kernel.ask(state)
    html, *_ = shown(kernel, "%%gradsense --restore\ntrain(5)")
    assert "are again as they were before the cell" in html
    assert kernel.ask(state) == before
    shown(kernel, "%%gradsense\ntrain(5)")
    assert kernel.ask(state) != before


def test_what_a_cell_defines_is_seen_by_later_ones_and_used_as_it_was_written(kernel: Kernel) -> None:
    cell = "%%gradsense\nimport torch\ndef again(count):\n    for _ in range(count):\n"
    cell += "        kept.append(net(torch.rand(2, 4)).sum())\n        kept[-1].backward()\nagain(9)"
    shown(kernel, cell)
    assert kernel.ask("len(kept)") == 3
    kernel.execute("again(2)")
    assert kernel.ask("len(kept)") == 5
    assert "gradsense" not in kernel.ask("str(again.__code__.co_names)")
    _, plain, _, _ = shown(kernel, "%%gradsense\nagain(9)")
    assert "]:5 grows\n" in plain and kernel.ask("len(kept)") == 8


def test_text_of_the_users_stays_text(kernel: Kernel) -> None:
    html, *_ = shown(kernel, "%%gradsense\nraise ValueError('<script>alert(1)</script>')  # <img src=x onerror=y>")
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html and "&lt;img" in html


def test_other_magics_work_in_the_cell(kernel: Kernel) -> None:
    cell = "%%gradsense\n%env GRADSENSE_TEST=7\nvalue = %env GRADSENSE_TEST\nnet(torch.rand(2, 4)).sum().backward()"
    shown(kernel, cell)
    assert kernel.ask("value") == "7"


def test_wrong_use_is_told_in_a_line(kernel: Kernel) -> None:
    for cell, words in (
        ("%%gradsense --passes -1\n1", "take a number from 0"),
        ("%%gradsense --pases 1\n1", "unrecognized arguments: --pases"),
        ("%%gradsense -o a.b\n1", "a.b cannot be the name of a variable"),
        ("%%gradsense\nawait something()", "cannot await in the cell itself"),
    ):
        outputs, text = kernel.execute(cell)
        assert outputs == [] and text.startswith("UsageError: ") and words in text, text


def test_it_can_be_unloaded(kernel: Kernel) -> None:
    kernel.execute("%unload_ext gradsense")
    assert "`%%gradsense` not found" in kernel.execute("%%gradsense\n1")[1]


def test_the_notebook_of_the_documents_runs_and_shows_what_it_says(started: Kernel) -> None:
    document = json.loads((ROOT / "docs" / "jupyter.ipynb").read_text(encoding="utf-8"))
    results = []
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            raises = "raises-exception" in cell["metadata"].get("tags", ())
            results.append((started.execute("".join(cell["source"])), raises))
    assert [":" in text and "Error" in text for (_, text), _ in results] == [raises for _, raises in results]
    grows, told, faulty = results[2:5]
    assert "`history` keeps the graph of each pass" in grows[0][0][0][PLAIN]
    assert told[0][1].startswith("history grows [")
    assert "written in place by `add_`" in faulty[0][0][0][HTML]


def test_without_a_notebook_the_report_is_text(tmp_path: Path) -> None:
    script = tmp_path / "session.ipy"
    cells = ["%load_ext gradsense", SETUP, "get_ipython().run_cell('%%gradsense\\ntrain(9)')"]
    script.write_text("\n".join(cells), encoding="utf-8")
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONPATH": str(ROOT / "server")}
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "--no-banner", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert " clean\n" in done.stdout or " grows\n" in done.stdout, done.stdout + done.stderr
    assert "<div" not in done.stdout and "ran on    cpu, torch" in done.stdout


def test_without_torch_the_reason_is_told() -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('%load_ext gradsense')\n"
        "shell.run_cell('%%gradsense\\n1')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert "UsageError: %%gradsense: torch is not installed in " in done.stdout + done.stderr


def test_the_check_takes_such_a_cell_for_python() -> None:
    assert mask("%%gradsense --passes 2\nx = 1\n").text.split() == ["x", "=", "1"]
