"""The oracle tells the outcomes apart."""

from __future__ import annotations

import pytest

from oracle import Oracle

NET = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
"""


def test_names_the_lines_of_an_error_across_files(torch_oracle: Oracle) -> None:
    helper = "def walk(loss):\n    loss.backward()\n    loss.backward()\n"
    main = f"{NET}from lib.walks import walk\n\nwalk(net(torch.ones(2, 3)).sum())\n"
    outcome = torch_oracle.run(main, {"lib/__init__.py": "", "lib/walks.py": helper})
    assert outcome.kind == "raises"
    assert outcome.error_type == "RuntimeError"
    assert "second time" in outcome.message
    assert outcome.stack == (("main.py", 7), ("lib/walks.py", 3))
    assert (outcome.file, outcome.line) == ("lib/walks.py", 3)


@pytest.mark.parametrize("loop", ["for k in range(4):", "k = 0\nwhile k < 4:\n    k += 1"])
def test_a_running_total_grows(torch_oracle: Oracle, loop: str) -> None:
    body = "loss = net(torch.ones(2, 3)).sum()", "loss.backward()", "total = total + loss", "if k == 2: continue"
    outcome = torch_oracle.run("\n".join([NET, "total = 0", loop, *(f"    {line}" for line in body)]))
    assert outcome.kind == "grows"
    assert len(outcome.growth) == 4
    assert outcome.growth == sorted(set(outcome.growth))
    (grown,) = outcome.loops
    assert (grown.file, grown.walks) == ("main.py", 3)


def test_a_graph_built_for_a_later_walk_does_not_grow(torch_oracle: Oracle) -> None:
    body = "total = 0\nfor x in torch.ones(4, 2, 3):\n    total = total + net(x).sum()\ntotal.backward()\n"
    outcome = torch_oracle.run(NET + body)
    assert (outcome.kind, outcome.growth) == ("clean", [])
    assert [loop.counts for loop in outcome.loops] == [(0, 0, 0, 0)]


def test_graphs_in_grad_count(torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run(f"{NET}for x in torch.ones(4, 2, 3):\n    net(x).sum().backward(create_graph=True)\n")
    assert outcome.kind == "grows"


def test_programs_do_not_see_each_other(torch_oracle: Oracle) -> None:
    draw = "import torch\nassert not hasattr(torch, 'mark')\ntorch.mark = 1\nraise ValueError(torch.rand(()).item())"
    first, second = torch_oracle.run(draw), torch_oracle.run(draw)
    assert first.error_type == "ValueError"
    assert first == second


def test_an_endless_program_times_out(torch_oracle: Oracle) -> None:
    assert torch_oracle.run("while True: pass", timeout=0.5).kind == "timeout"


def test_a_dead_process_is_an_outcome(torch_oracle: Oracle) -> None:
    outcome = torch_oracle.run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert (outcome.kind, outcome.error_type) == ("raises", "ProcessDied")


def test_leaving_by_sys_exit_is_clean(torch_oracle: Oracle) -> None:
    assert torch_oracle.run("import sys\nprint('hello')\nsys.exit(3)").kind == "clean"
