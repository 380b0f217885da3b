"""The fixes of GS3xx, GS4xx and GS5xx where programs are not as neat as on the pages."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradsense.check import check_source
from gradsense.syntax import Source, apply_edits
from oracle import Oracle

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
STEP = """\
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@dataclass(frozen=True)
class Case:
    """A program, and what its first fix makes of it.

    Attributes:
        name: what is special about it.
        code: the rule.
        program: what follows the usual head.
        becomes: lines that the fix brings.
        outcome: what torch does with the mended program.
    """

    name: str
    code: str
    program: str
    becomes: tuple[str, ...]
    outcome: str = "clean"


CASES = [
    Case(
        "a total in an attribute's dictionary, over several lines with comments",
        "GS301",
        f"""\
class Trainer:
    def __init__(self):
        self.stats = {{"loss": 0.0, "n": 0}}


trainer = Trainer()
for i in range(4):
{STEP}    trainer.stats["loss"] += (
        loss  # the loss
        * 4
    )  # total
    trainer.stats["n"] += 4
""",
        ("        loss.item()  # the loss", "    )  # total"),
    ),
    Case(
        "a total that is a tensor for those who read it",
        "GS301",
        f"total = 0.0\nfor i in range(4):\n{STEP}    total = total + 0.5 * loss\nprint(total.item())\n",
        ("    total = total + (0.5 * loss).detach()",),
    ),
    Case(
        "a total that a function returns to someone who wants a tensor",
        "GS301",
        "def run():\n    total = torch.zeros(1)\n    for i in range(4):\n"
        "        loss = net(torch.randn(4, 3)).pow(2).mean()\n        opt.zero_grad()\n        loss.backward()\n"
        "        opt.step()\n        total += loss\n    return total / 4\n\n\nmean = run()\nprint(mean.item())\n",
        ("        total += loss.detach()",),
    ),
    Case(
        "terms without a graph stay as they are",
        "GS301",
        f"total, extra = 0.0, 1\nfor i in range(4):\n{STEP}    total = total + loss + extra\n",
        ("    total = total + loss.item() + extra",),
    ),
    Case(
        "a total written in place",
        "GS301",
        f"total = torch.zeros(())\nfor i in range(4):\n{STEP}    total.add_(loss)\n",
        ("    total.add_(loss.detach())",),
    ),
    Case(
        "an average that starts with the first loss",
        "GS301",
        f"mean = None\nfor i in range(4):\n{STEP}    if mean is None:\n        mean = loss\n    else:\n"
        "        mean = 0.9 * mean + 0.1 * loss\n",
        ("        mean = loss.item()", "        mean = 0.9 * mean + 0.1 * loss.item()"),
    ),
    Case(
        "a meter that other callers give numbers",
        "GS301",
        "class Meter:\n    def __init__(self):\n        self.sum = 0.0\n\n    def update(self, value, n=1):\n"
        "        self.sum += value * n\n\n\nlosses, sizes = Meter(), Meter()\n"
        f"for i in range(4):\n{STEP}    sizes.update(4.0)\n    losses.update(loss, n=4)\n",
        ("    losses.update(loss.item(), n=4)",),
    ),
    Case(
        "two statements on one line, a tuple with a dictionary in it",
        "GS302",
        f'log = []\nfor i in range(4):\n{STEP}    n = i; log.append((n, {{"loss": loss, "n": n}}))\n',
        ('    n = i; log.append((n, {"loss": loss.detach(), "n": n}))',),
    ),
    Case(
        "a list made longer by a list",
        "GS302",
        f"log = []\nfor i in range(4):\n{STEP}    log += [loss]\n",
        ("    log += [loss.detach()]",),
    ),
    Case(
        "a logger that keeps what it is handed",
        "GS302",
        f"rows = []\n\n\ndef log(*values):\n    rows.append(values)\n\n\nfor i in range(4):\n{STEP}    log(i, loss)\n",
        ("    log(i, loss.detach())",),
    ),
    Case(
        "a dictionary of mixed things, kept through its name",
        "GS302",
        f'rows = []\nfor i in range(4):\n{STEP}    row = {{"i": i, "loss": loss}}\n    rows.append(row)\n',
        ('    row = {"i": i, "loss": loss.detach()}',),
    ),
    Case(
        "a dictionary of tensors, kept through its name",
        "GS302",
        f'rows = []\nfor i in range(4):\n{STEP}    row = {{"a": loss, "b": loss * 2}}\n    rows.append(row)\n',
        ("    rows.append({k: v.detach() for k, v in row.items()})",),
    ),
    Case(
        "an object made of what is kept",
        "GS302",
        "class Row:\n    def __init__(self, i, loss):\n        self.i, self.loss = i, loss\n\n\nrows = []\n"
        f"for i in range(4):\n{STEP}    rows.append(Row(i, loss))\n",
        ("    rows.append(Row(i, loss.detach()))",),
    ),
    Case(
        "an evaluation in a function",
        "GS305",
        "class Wrap(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.net = net\n\n"
        "    def forward(self, x):\n        return self.net(x)\n\n\nmodel = Wrap()\n\n\ndef evaluate(batches):\n"
        "    outputs = []\n    for x in batches:\n        # one batch\n        outputs.append(model(x))\n"
        "    return torch.cat(outputs)\n\n\nevaluate(torch.randn(5, 4, 3))\n",
        ("    with torch.no_grad():", "        for x in batches:", "            # one batch"),
    ),
    Case(
        "retained by position, where it is the last argument",
        "GS303",
        "for i in range(3):\n    net(torch.randn(4, 3)).sum().backward(None, True)\n    opt.step()\n    opt.zero_grad()\n",
        ("    net(torch.randn(4, 3)).sum().backward(None)",),
    ),
    Case(
        "one context of two",
        "GS401",
        'with torch.no_grad(), torch.autocast("cpu", enabled=False):\n    loss = net(torch.randn(4, 3)).mean()\n'
        "loss.backward()\n",
        ('with torch.autocast("cpu", enabled=False):',),
    ),
    Case(
        "a walk and an update under one no_grad",
        "GS401",
        "w = torch.ones(3, requires_grad=True)\nfor i in range(3):\n    with torch.no_grad():\n"
        "        loss = (w * w).sum()\n        loss.backward()  # walk\n        w -= 0.1 * w.grad\n        w.grad.zero_()\n",
        (
            "    loss = (w * w).sum()",
            "    loss.backward()  # walk",
            "    with torch.no_grad():",
            "        w -= 0.1 * w.grad",
        ),
    ),
    Case(
        "a decorator that is imported by name",
        "GS401",
        "from torch import no_grad\n\n\n@no_grad()\ndef features(x):\n    return net(x)\n\n\n"
        "features(torch.randn(4, 3)).mean().backward()\n",
        ("def features(x):",),
    ),
    Case(
        "gradients switched off by a statement",
        "GS401",
        "def validate():\n    torch.set_grad_enabled(False)\n    value = net(torch.randn(4, 3)).mean()\n"
        "    return value.item()\n\n\nfor i in range(2):\n    loss = net(torch.randn(4, 3)).pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n    validate()\n",
        ("    with torch.no_grad():", "        return value.item()"),
    ),
    Case(
        "a list of numbers made a tensor again",
        "GS401",
        "losses = [net(torch.randn(4, 3)).pow(2).mean() for _ in range(3)]\n"
        "total = torch.tensor([loss.item() for loss in losses]).mean()\ntotal.backward()\n",
        ("total = torch.stack([loss for loss in losses]).mean()",),
    ),
    Case(
        "a number under the same name",
        "GS401",
        "loss = float(net(torch.randn(4, 3)).pow(2).mean())\nloss = torch.tensor(loss)\nloss.backward()\n",
        ("loss = net(torch.randn(4, 3)).pow(2).mean()", "loss.backward()"),
    ),
    Case(
        "a dead loss made a leaf",
        "GS401",
        "logits = net(torch.randn(4, 3)).data\nloss = logits.pow(2).mean()\nloss.requires_grad_(True)\nloss.backward()\n",
        ("logits = net(torch.randn(4, 3))", "loss = logits.pow(2).mean()", "loss.backward()"),
    ),
    Case(
        "create_graph by position",
        "GS402",
        "x = torch.randn(4, 3, requires_grad=True)\n"
        "(slope,) = torch.autograd.grad(net(x).pow(2).sum(), x, None, True, False)\nslope.pow(2).sum().backward()\n",
        ("(slope,) = torch.autograd.grad(net(x).pow(2).sum(), x, None, True, True)",),
    ),
    Case(
        "outputs by name",
        "GS403",
        "x = torch.randn(4, 3, requires_grad=True)\nscore = net(x)\n"
        "slope = torch.autograd.grad(outputs=score, inputs=x)[0]\n",
        ("slope = torch.autograd.grad(outputs=score.sum(), inputs=x)[0]",),
    ),
    Case(
        "a weight that each pass binds anew",
        "GS404",
        "w = torch.zeros(3, requires_grad=True)\nfor i in range(3):\n    (w - 1).pow(2).sum().backward()\n"
        "    w = w - 0.1 * w.grad  # update\n",
        ("    with torch.no_grad():", "        w -= 0.1 * w.grad", "    w.grad = None  # update"),
    ),
    Case(
        "an activation's gradient",
        "GS404",
        "hidden = torch.relu(net(torch.randn(4, 3)))\nhidden.sum().backward()\nprint(hidden.grad * 2)\n",
        ("hidden.retain_grad()",),
    ),
    Case(
        "several walks to a step",
        "GS405",
        "for i in range(3):\n    net(torch.randn(4, 3)).pow(2).mean().backward()\n"
        "    net(torch.randn(4, 3)).abs().mean().backward()\n    opt.step()\n",
        ("    opt.step()", "    opt.zero_grad()"),
    ),
    Case(
        "a gradient scaler's step",
        "GS405",
        'scaler = torch.amp.GradScaler("cpu", enabled=False)\n\n\ndef step(x):\n    loss = net(x).pow(2).mean()\n'
        "    scaler.scale(loss).backward()\n    scaler.step(opt)\n    scaler.update()\n\n\n"
        "for i in range(3):\n    step(torch.randn(4, 3))\n",
        ("    opt.zero_grad()", "    scaler.scale(loss).backward()"),
    ),
    Case(
        "a method named and not called",
        "GS406",
        f"for i in range(3):\n    opt.zero_grad\n    net(torch.randn(4, 3)).sum().backward()\n    opt.step()\n",
        ("    opt.zero_grad()",),
    ),
    Case(
        "a loss forgotten in the sum",
        "GS407",
        "aux = nn.Linear(3, 1)\nboth = torch.optim.SGD([*net.parameters(), *aux.parameters()], lr=0.1)\n"
        "for i in range(3):\n    x = torch.randn(4, 3)\n    loss = net(x).pow(2).mean()\n    aux_loss = aux(x).pow(2).mean()\n"
        "    both.zero_grad()\n    loss.backward()\n    both.step()\n",
        ("    (loss + aux_loss).backward()",),
    ),
    Case(
        "an array of a list of losses",
        "GS409",
        f"log = []\nfor i in range(2):\n{STEP}    log.append(loss)\nprint(np.array(log).mean())\n",
        ("    log.append(loss.detach())",),
    ),
    Case(
        "an array by way of the CPU",
        "GS409",
        "out = net(torch.randn(4, 3))\nprint(out.cpu().numpy())\n",
        ("print(out.detach().cpu().numpy())",),
    ),
    Case(
        "an attribute set on a computed tensor",
        "GS413",
        "out = net(torch.randn(4, 3))\nout.requires_grad = False\nprint(out)\n",
        ("out = out.detach()",),
    ),
    Case(
        "anomaly detection around a loop",
        "GS501",
        "with torch.autograd.set_detect_anomaly(True):\n    for i in range(2):\n"
        "        net(torch.randn(2, 3)).sum().backward()  # walk\n",
        ("for i in range(2):", "    net(torch.randn(2, 3)).sum().backward()  # walk"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code} {case.name}" for case in CASES])
def test_first_fix(case: Case, torch_oracle: Oracle) -> None:
    text = HEAD + case.program
    found = [
        finding for finding in check_source(Source.from_text("main.py", text)).findings if finding.code == case.code
    ]
    assert found and found[0].fixes, "no fix is offered"
    mended = apply_edits(text, found[0].fixes[0].edits)
    lines = mended.split("\n")
    missing = [line for line in case.becomes if line not in lines]
    assert not missing, mended
    outcome = torch_oracle.run(mended)
    assert outcome.kind == case.outcome, f"{outcome}\n{mended}"
    left = check_source(Source.from_text("main.py", mended)).findings
    assert case.code not in [finding.code for finding in left], mended


QUIET = {
    "a retained walk that a later one needs": "x = net(torch.randn(4, 3))\nx.pow(2).mean().backward(retain_graph=True)\n"
    "x.abs().mean().backward()\n",
    "anomaly detection behind a flag": "import sys\n\nif '--debug' in sys.argv:\n    torch.autograd.set_detect_anomaly(True)\n"
    "net(torch.randn(4, 3)).sum().backward()\n",
    "anomaly detection switched off again": "torch.autograd.set_detect_anomaly(True)\nnet(torch.randn(4, 3)).sum().backward()\n"
    "torch.autograd.set_detect_anomaly(False)\n",
    "a number now and then": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nmodel = net.to(device)\n"
    "for i in range(6):\n    loss = model(torch.randn(4, 3, device=device)).pow(2).mean()\n    loss.backward()\n"
    "    opt.step()\n    opt.zero_grad()\n    if i % 3 == 0:\n        print(loss.item())\n",
    "a gradient reduced": "net(torch.randn(4, 3)).sum().backward()\nfor p in net.parameters():\n    torch.distributed.all_reduce(p.grad)\n",
}


@pytest.mark.parametrize("program", QUIET.values(), ids=list(QUIET))
def test_nothing_is_said(program: str) -> None:
    found = check_source(Source.from_text("main.py", HEAD + program)).findings
    assert not [finding for finding in found if finding.code[:3] in {"GS3", "GS4", "GS5"}]
