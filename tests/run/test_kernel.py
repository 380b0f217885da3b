"""A cell that is run in a notebook's kernel, with a real one."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from gradsense.run.kernel import PASS, REPORT, code_for
from gradsense.syntax import Source
from run.kernels import Kernel, started
from run.kernels import bare_kernel as kernel

__all__ = ["kernel", "started"]

PATH = "/work/fit.ipynb"
SETUP = (
    "import torch\nfrom torch import nn\nmodel = nn.Linear(2, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.5)\n"
)
TRAIN = """\
history = []
def train(count):
    for epoch in range(count):
        loss = model(torch.rand(3, 2)).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss)
"""
IN_PLACE = "%config InlineBackend.figure_format = 'svg'\ny = model.weight.exp()\ny += 1\ny.sum().backward()\n"


def line_of(cell: int, line: int, *cells: str) -> int:
    """The program's line of a line of a cell."""
    return Source.from_cells(PATH, list(enumerate(cells))).cells[cell].first_line + line - 1


def run(kernel: Kernel, number: int, *cells: str, **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs one of a notebook's cells under the probe; the report, and what was told of its passes."""
    source = Source.from_cells(PATH, list(enumerate(cells)))
    lines = source.text.splitlines()
    spec = {
        "path": PATH,
        "text": "\n".join(lines),
        "cells": [[cell.first_line, cell.last_line, cell.text] for cell in source.cells],
        "cell": number,
        **more,
    }
    shown, text = kernel.execute(code_for(spec), history=False)
    assert text == ""
    reports = [found[REPORT] for found in shown if REPORT in found]
    assert len(reports) == 1
    return reports[0], [found[PASS] for found in shown if PASS in found]


def test_a_cell_uses_the_variables_that_are_there_and_its_lines_are_the_notebooks(kernel: Kernel) -> None:
    kernel.execute(SETUP)
    kernel.execute("print('nothing of this'); names = set(dir()); seven = 7")
    report, _ = run(kernel, 1, SETUP, IN_PLACE)
    assert report["outcome"] == "raises" and "modified by an inplace operation" in report["error"]["message"]
    places = [(spot["path"], spot["line"]) for spot in (report["saved"], *report["written"], report["walk"])]
    assert places == [(PATH, line_of(1, line, SETUP, IN_PLACE)) for line in (2, 3, 4)]
    assert [frame["text"] for frame in report["backward_traceback"] if frame["user"]] == ["y.sum().backward()"]
    # What the cell made is there, what the probe needed is not.
    new = kernel.ask("sorted(name for name in set(dir()) - names if not name.startswith('_i'))")
    assert new == ["json", "names", "seven", "y"]
    assert kernel.ask("list(y.shape)") == [1, 2]


def test_the_kernel_goes_on_as_before(kernel: Kernel) -> None:
    kernel.execute(SETUP)
    _, before = kernel.execute("print(torch.is_anomaly_enabled(), torch.autograd.Variable._execution_engine)")
    run(kernel, 1, SETUP, IN_PLACE)
    _, after = kernel.execute("print(torch.is_anomaly_enabled(), torch.autograd.Variable._execution_engine)")
    assert before == after and before.startswith("False")
    assert kernel.execute("6 * 7")[0] == [{"text/plain": "42"}]
    assert kernel.execute("_")[0] == [{"text/plain": "42"}]
    run(kernel, 1, SETUP, IN_PLACE)
    assert kernel.execute("_")[0] == [{"text/plain": "42"}]


def test_a_loop_in_a_function_of_an_earlier_cell_is_cut_and_told_in_its_cell(kernel: Kernel) -> None:
    kernel.execute(SETUP)
    kernel.execute(TRAIN)
    report, passes = run(kernel, 2, SETUP, TRAIN, "print('begins')\ntrain(100_000)\n", passes=3)
    assert report["outcome"] == "grows" and len(passes) == 3
    assert kernel.ask("len(history)") == 3
    [holder] = report["holders"]
    assert (holder["name"], holder["path"], holder["line"]) == ("history", PATH, line_of(1, 8, SETUP, TRAIN))
    assert report["output"] == "begins\n"
    # Afterwards it is the function that it was.
    kernel.execute("train(5)")
    assert kernel.ask("len(history)") == 8


def test_what_the_cell_defines_can_be_used_afterwards(kernel: Kernel) -> None:
    cell = "def items(count):\n    for item in range(count):\n        yield item\n\nbegun = items(4)\nnext(begun)\n"
    report, _ = run(kernel, 0, cell)
    assert report["outcome"] == "clean"
    assert kernel.ask("list(items(3))") == [0, 1, 2]
    assert kernel.ask("items.__code__.co_names") == ["range"]
    assert kernel.ask("list(begun)") == [1, 2, 3]


def test_a_function_whose_cell_was_edited_since_is_run_as_the_kernel_has_it(kernel: Kernel) -> None:
    kernel.execute(SETUP)
    kernel.execute(TRAIN.replace("history.append(loss)", "history.append(loss.item())"))
    report, _ = run(kernel, 2, SETUP, TRAIN, "train(5)\n")
    assert report["outcome"] == "clean"
    assert kernel.ask("[type(value).__name__ for value in history]") == ["float"] * 5


def test_models_and_optimizers_are_put_back_on_request(kernel: Kernel) -> None:
    kernel.execute(SETUP)
    kernel.execute(TRAIN)
    weight = "model.weight.tolist()"
    before = kernel.ask(weight)
    report, _ = run(kernel, 2, SETUP, TRAIN, "train(5)\n", restore=True)
    assert report["outcome"] == "grows" and kernel.ask(weight) == before
    run(kernel, 2, SETUP, TRAIN, "train(5)\n")
    assert kernel.ask(weight) != before


def test_magics_run_and_lines_stay(kernel: Kernel) -> None:
    cell = "%env GRADSENSE_TEST=7\nvalue = %env GRADSENSE_TEST\nimport torch\ntorch.ones(2).sum().backward()\n"
    report, _ = run(kernel, 0, cell)
    assert report["walk"]["line"] == 4 and kernel.ask("value") == "7"
    report, _ = run(kernel, 0, "%%time\nimport torch\ntorch.ones(2).sum().backward()\n")
    assert report["walk"]["line"] == 3
    assert report["notes"] == ["lines of the cell that are not Python were left out"]


def test_what_cannot_be_run_says_so(kernel: Kernel) -> None:
    report, _ = run(kernel, 0, "if True print('no')\n")
    assert report["outcome"] == "failed" and report["error"]["type"] == "SyntaxError"
    report, _ = run(kernel, 0, "import torch\nraise SystemExit(3)\n")
    assert report["outcome"] in ("clean", "failed", "raises")
    report, _ = run(kernel, 0, "import time\ntime.sleep(60)\n", time_limit=1)
    assert report["outcome"] == "timeout"
    assert kernel.execute("6 * 7")[0] == [{"text/plain": "42"}]


def test_a_run_that_is_interrupted_ends_and_the_kernel_goes_on(kernel: Kernel) -> None:
    cell = "import time\nopen(began, 'w').close()\nwhile True: time.sleep(0.01)\n"
    with tempfile.TemporaryDirectory() as folder:
        began = Path(folder) / "began"
        kernel.execute(f"began = {str(began)!r}")

        def interrupt() -> None:
            while not began.exists():
                time.sleep(0.05)
            kernel.manager.interrupt_kernel()

        thread = threading.Thread(target=interrupt)
        thread.start()
        report, _ = run(kernel, 0, cell)
        thread.join()
    assert report["error"]["type"] == "KeyboardInterrupt"
    assert kernel.execute("6 * 7")[0] == [{"text/plain": "42"}]


def test_a_kernel_elsewhere_is_told_apart(kernel: Kernel) -> None:
    code = code_for({"path": PATH, "text": "", "cells": [], "cell": 0}).replace("guest/cell.py", "guest/nowhere.py")
    [shown], text = kernel.execute(code, history=False)
    assert text == "" and "on another machine" in shown[REPORT]["error"]["message"]
