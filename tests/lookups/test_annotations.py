"""What annotations tell of values that nobody gave."""

from __future__ import annotations

import pytest

from gradsense.check import Project, check_source
from gradsense.machine.outside import Kind, Known, Outside
from gradsense.syntax import Source
from oracle import Oracle

HEAD = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated, Optional, Sequence, TYPE_CHECKING, Union
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        return torch.sigmoid(self.fc(x))

class Other(nn.Module):
    def forward(self, x):
        return x + 1

@dataclass
class Setup:
    net: Net
    rate: float

class Trainer:
    def __init__(self, net):
        self.net: Net = net
    def step(self, x):
        h = self.net(x)
        h += 1
        h.sum().backward()
"""
USE = "    h = net(x)\n    h += 1\n    h.sum().backward()\n"


def codes(text: str) -> list[str]:
    """What is found in a program whose functions nobody calls."""
    return [finding.code for finding in check_source(Source.from_text("a.py", text)).findings]


@pytest.mark.parametrize(
    "annotation",
    ["Net", '"Net"', "Optional[Net]", "Net | None", "Annotated[Net, 1]", "Union[Net, None]", '"Optional[Net]"'],
)
def test_a_class_of_the_program(annotation: str, torch_oracle: Oracle) -> None:
    text = HEAD[: HEAD.index("class Trainer")] + f"def step(net: {annotation}, x):\n{USE}"
    assert "GS201" in codes(text)
    assert torch_oracle.run(text + "step(Net(), torch.ones(2, 3))\n").line == text.count("\n")


@pytest.mark.parametrize("annotation", ["list[Net]", "Sequence[Net]", "tuple[Net, ...]"])
def test_several_of_a_class(annotation: str) -> None:
    loop = "".join(f"    {line}\n" for line in USE.splitlines())
    text = HEAD[: HEAD.index("class Trainer")] + f"def step(nets: {annotation}, x):\n    for net in nets:\n{loop}"
    assert "GS201" in codes(text)


def test_a_field_of_a_dataclass() -> None:
    text = HEAD[: HEAD.index("class Trainer")]
    assert "GS201" in codes(text + f"def step(setup: Setup, x):\n    net = setup.net\n{USE}")


def test_an_attribute() -> None:
    assert "GS201" in codes(HEAD)


@pytest.mark.parametrize(
    "annotation", ["Union[Net, Other]", "Net | Other", "tuple[Net, Other]", "Missing", "'Net | ('"]
)
def test_what_may_be_several_things_is_unknown(annotation: str) -> None:
    text = HEAD[: HEAD.index("class Trainer")] + f"def step(net: {annotation}, x):\n{USE}"
    assert "GS201" not in codes(text)


OUTSIDE = """\
import torch
import nets
from nets import Net

model = NEW
opt = torch.optim.SGD(model.parameters(), 0.1)
out = model(torch.randn(4, 3))
for _ in range(3):
    opt.zero_grad()
    out.exp().sum().backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ("nets.Net()", True),
        ("Net(3, width=4)", True),
        ("Net.from_pretrained('x')", True),
        ("nets.other()", False),
        # What is made of another network may be little more than that.
        ("Net(torch.nn.Identity())", False),
    ],
)
def test_answers_about_other_packages(new: str, found: bool) -> None:
    outside = Outside({"nets.Net": Known(Kind.NETWORK), "nets.other": Known(Kind.OTHER)})
    text = OUTSIDE.replace("NEW", new)
    report = check_source(Source.from_text("a.py", text), Project((), None, outside))
    assert any(finding.code == "GS105" for finding in report.findings) is found


def test_what_is_not_known_is_asked() -> None:
    outside = Outside()
    check_source(Source.from_text("a.py", OUTSIDE.replace("NEW", "nets.Net()")), Project((), None, outside))
    assert {"nets", "nets.Net"} <= set(outside.open)
    assert not {"torch", "torch.randn"} & set(outside.open)
