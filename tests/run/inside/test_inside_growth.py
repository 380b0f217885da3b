"""Which loops grow, and by which names the graphs are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Probed = Callable[..., dict[str, Any]]

HEAD = """
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def step():
    loss = net(torch.ones(3, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss
"""  # ten lines, the first one empty

HELD = {
    "a running total": ("total = 0\nfor i in range(9):\n    total = total + step()\n", "total", 13),
    "a list": ("kept = []\nfor i in range(9):\n    kept.append(step())\n", "kept", 13),
    "a dictionary": ("log = {}\nfor i in range(9):\n    log[i] = step()\n", "log", 13),
    "lists in a dictionary": (
        "log = {'x': [], 'y': []}\nfor i in range(9):\n    log['x'].append(step())\n",
        "log",
        13,
    ),
    "a list of a function, by closure": (
        "def make():\n    kept = []\n    def add(x):\n        kept.append(x)\n    return add\n"
        "add = make()\nfor i in range(9):\n    add(step())\n",
        "kept",
        14,
    ),
    "a default argument": (
        "def add(x, kept=[]):\n    kept.append(x)\nfor i in range(9):\n    add(step())\n",
        "kept",
        12,
    ),
    "an attribute of a module": (
        "net.total = 0\nfor i in range(9):\n    net.total = net.total + step()\n",
        "net.total",
        13,
    ),
    "an attribute of a class": (
        "class Log:\n    kept = []\nfor i in range(9):\n    Log.kept.append(step())\n",
        "Log.kept",
        14,
    ),
    "an object in an object": (
        "class Meter:\n    def __init__(self):\n        self.sum = 0\n    def update(self, x):\n        self.sum += x\n"
        "class Trainer:\n    meter = None\ntrainer = Trainer()\ntrainer.meter = Meter()\n"
        "for i in range(9):\n    trainer.meter.update(step())\n",
        "trainer.meter.sum",
        15,
    ),
    "a hook that holds its own tensor": (
        "for i in range(9):\n    h = net(torch.ones(3, 2))\n    h.register_hook(lambda g, h=h: None)\n"
        "    (h * h).sum().backward()\n",
        "h",
        13,
    ),
    "a cache": (
        "import functools\n@functools.lru_cache(None)\ndef norm(i):\n    return net.weight.norm()\n"
        "for i in range(9):\n    norm(i)\n    step()\n",
        "norm.cache",
        14,
    ),
    "a local variable": (
        "def train():\n    total = 0\n    while True:\n        total += step()\n"
        "        if total.item() < 0:\n            break\ntrain()\n",
        "total",
        14,
    ),
}


@pytest.mark.parametrize("what", HELD)
def test_holder_is_named_with_the_line_that_stored_it(probed: Probed, what: str) -> None:
    body, name, line = HELD[what]
    report = probed(HEAD + body)
    assert report["outcome"] == report["verdict"] == "grows", report["error"]
    assert (report["holders"][0]["name"], report["holders"][0]["line"]) == (name, line), report["holders"]
    assert len(report["holders"]) == 1


CLEAN = {
    "numbers": (
        "total, kept = 0, []\nfor i in range(9):\n    loss = step()\n"
        "    total += loss.item()\n    kept.append(loss.detach())\n"
    ),
    "the last one and the best one": (
        "best = None\nfor i in range(9):\n    last = step()\n    best = last if best is None or last < best else best\n"
    ),
    "a loop that builds one graph": (
        "for i in range(9):\n    h = torch.zeros(3, 2, requires_grad=True)\n    losses = []\n"
        "    for t in range(5):\n        h = torch.tanh(h * net.weight)\n        losses.append(h.sum())\n"
        "    opt.zero_grad()\n    sum(losses).backward()\n    opt.step()\n"
    ),
    "layers of a module": (
        "class Deep(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(5))\n"
        "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
        "y = Deep()(torch.ones(1, 2))\n"
    ),
    "what is walked after the loop": (
        "total = 0\nfor i in range(9):\n    total = total + net(torch.ones(1, 2)).sum()\ntotal.backward()\n"
    ),
    "inner steps of one graph": (
        "for i in range(9):\n    w = net.weight\n    for k in range(3):\n"
        "        (g,) = torch.autograd.grad((w * 2).pow(2).sum(), w, create_graph=True)\n        w = w - 0.1 * g\n"
        "    opt.zero_grad()\n    w.sum().backward()\n    opt.step()\n"
    ),
}


@pytest.mark.parametrize("what", CLEAN)
def test_what_does_not_grow_is_clean(probed: Probed, what: str) -> None:
    report = probed(HEAD + CLEAN[what])
    assert report["outcome"] == "clean", (report["error"], report["passes"], report["holders"])
    assert report["verdict"] in ("steady", "varying", "none") and report["holders"] == []


def test_what_a_later_cell_walks_is_no_growth(probed: Probed) -> None:
    text = HEAD + "losses = []\nfor i in range(9):\n    losses.append(net(torch.ones(1, 2)).sum())\n"
    assert probed(text)["outcome"] == "grows"
    assert probed(text + "sum(losses).backward()\n", until_line=13)["outcome"] == "clean"
    assert probed(text + "sum(losses).backward()\n")["outcome"] == "clean"


def test_loop_of_a_library_counts_for_the_line_that_called_it(probed: Probed) -> None:
    report = probed(
        """
        import sys
        sys.path.append("site-packages")
        import torch
        from torch.utils.data import DataLoader
        from trainer import fit
        net = torch.nn.Linear(2, 1)
        kept = []
        fit(net, DataLoader(torch.ones(40, 2), batch_size=2), kept)
        """,
        files={
            "site-packages/trainer.py": """
                def fit(net, loader, kept):
                    for batch in loader:
                        loss = net(batch).sum()
                        loss.backward()
                        kept.append(loss)
                """
        },
    )
    assert report["outcome"] == "grows"
    assert [row["line"] for row in report["passes"]] == [9, 9, 9]
    assert report["holders"][0]["name"] == "kept"


def test_passes_tell_sizes(probed: Probed) -> None:
    report = probed(
        """
        import torch
        w = torch.ones(1000, requires_grad=True)
        for i in range(5):
            y = w.exp().exp()
            y.sum().backward()
        """
    )
    assert report["verdict"] == "steady" and len(report["passes"]) == 3
    for row in report["passes"]:
        assert (row["nodes"], row["saved_tensors"], row["saved_bytes"]) == (2, 2, 8000)
        assert row["alive_bytes"] >= 12000 and row["allocated"] == row["reserved"] == 0
    assert report["loss"][0] == pytest.approx(15154.26, rel=1e-4) and len(report["loss"]) == 3


def test_sizes_that_come_and_go_are_varying(probed: Probed) -> None:
    report = probed(
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        for i in range(5):
            w.expand(10 + i % 2).exp().sum().backward()
        """,
        passes=4,
    )
    assert report["verdict"] == "varying" and report["outcome"] == "clean"
