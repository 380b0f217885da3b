"""The probe in a process that lives on: a notebook's kernel, or a test run."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[3] / "server"

PROGRAM = r"""
import builtins, gc, linecache, os, sys, warnings
import torch
from torch.autograd.function import FunctionCtx
from torch.autograd.variable import Variable
from torch.optim import optimizer as optimizers
from torch.utils._python_dispatch import _get_current_dispatch_mode
from torch.utils.data import DataLoader

from gradsense.run.inside.existing import Text
from gradsense.run.inside.probe import Probe
from gradsense.run.inside.restoring import Snapshot


def switches():
    return {
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "mode": _get_current_dispatch_mode(),
        "engine": type(Variable._execution_engine),
        "stacks": torch.fx.traceback.format_stack,
        "numpy": ("numpy" in vars(torch.Tensor), torch.from_numpy),
        "loader": DataLoader.__iter__,
        "functions": FunctionCtx.save_for_backward,
        "torch": (torch.set_anomaly_enabled, torch.compile),
        "hooks": torch._C._autograd._push_saved_tensors_default_hooks,
        "imports": list(sys.meta_path),
        "optimizers": (len(optimizers._global_optimizer_pre_hooks), len(optimizers._global_optimizer_post_hooks)),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "builtins": [name for name in dir(builtins) if "gradsense" in name],
        "environment": dict(os.environ),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "frozen": gc.get_freeze_count(),
    }


def cell(text, number):
    with Probe() as probe:
        exec(probe.compile(text, f"<cell {number}>"), variables)
    return probe


import torch.fx.traceback

variables = {"torch": torch}
exec("net = torch.nn.Linear(2, 1); opt = torch.optim.Adam(net.parameters()); losses = []", variables)
before = switches()
weight = variables["net"].weight.detach().clone()
snapshot = Snapshot(variables)

# a cell that grows
report = cell(
    "for i in range(10):\n    loss = net(torch.rand(3, 2)).sum()\n    opt.zero_grad()\n"
    "    loss.backward()\n    opt.step()\n    losses.append(loss)\n", 1
).report()
assert report["outcome"] == "grows", report
assert [(row["name"], row["path"], row["line"]) for row in report["holders"]] == [("losses", "<cell 1>", 6)]
assert len(variables["losses"]) == 3
assert switches() == before

# everything as it was
assert not torch.equal(variables["net"].weight, weight)
number = torch.rand(1)
snapshot.restore()
assert torch.equal(variables["net"].weight, weight) and variables["net"].weight.grad is None
assert variables["opt"].state_dict()["state"] == {}
first = torch.rand(1)
snapshot.restore()
assert torch.equal(first, torch.rand(1))

# a cell that raises
probe = Probe()
try:
    with probe:
        exec(probe.compile("y = net.weight.exp()\ny.add_(1)\ny.sum().backward()\n", "<cell 2>"), variables)
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error)
else:
    raise AssertionError("it did not raise")
report = probe.report()
assert report["outcome"] == "raises"
assert [row["line"] for row in (report["walk"], report["saved"], *report["written"])] == [3, 1, 2]
assert report["written"][0]["path"] == "<cell 2>"
assert switches() == before

# steps of a test, with nothing rewritten; graphs of earlier cells are there still
kept = []
with Probe(passes=0) as probe:
    for x in probe.passes(torch.rand(5, 3, 2)):
        loss = variables["net"](x).sum()
        loss.backward()
        kept.append(loss)
report = probe.report()
assert report["outcome"] == "grows" and len(kept) == 5
(holder,) = report["holders"]
assert holder["name"] == "kept" and holder["text"] == "kept.append(loss)"
with Probe(passes=0) as probe:
    for x in probe.passes(torch.rand(5, 3, 2)):
        variables["net"](x).sum().backward()
assert probe.report()["verdict"] == "steady"
assert switches() == before

# a function that exists already, and one that is defined meanwhile
text = (
    "def train(kept):\n    for i in range(9):\n        kept.append(net(torch.rand(3, 2)).sum())\n"
    "        kept[-1].backward()\n"
)
linecache.cache["<cell 3>"] = (len(text), None, text.splitlines(keepends=True), "<cell 3>")
exec(compile(text, "<cell 3>", "exec"), variables)
code = variables["train"].__code__
probe = Probe(passes=4)
probe.live_on([Text("<cell 3>", text, "<cell 3>")])
with probe:
    exec(probe.compile("kept = []\ndef again():\n    train(kept)\nagain()\n", "<cell 4>"), variables)
report = probe.report()
assert report["outcome"] == "grows" and report["holders"][0]["line"] == 3, report
assert len(variables["kept"]) == 4
assert variables["train"].__code__ is code
assert switches() == before
variables["again"]()
assert len(variables["kept"]) == 13
print("all is well")
"""


def test_nothing_stays_on_and_everything_can_be_put_back(tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    program = tmp_path / "kernel.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SERVER), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment)
    assert done.stdout.endswith("all is well\n"), done.stderr
