"""What is offered first for faults as people write them: under aliases, in tuples, attributes and long statements."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.fixes.fix import Applicability
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source, apply_edits

HEAD = """\
import torch
from torch import nn

lstm, head = nn.LSTM(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
"""

# A program behind HEAD; the lines of it that change, before and after.
OFFERS = {
    "a tuple is detached item by item": (
        """
state = None
for x in torch.randn(3, 5, 2, 3):
    out, state = lstm(x, state)  # carried
    opt.zero_grad()
    head(out).mean().backward()
    opt.step()
""",
        [],
        ["    state = tuple(s.detach() for s in state)"],
    ),
    "with the program's own helper": (
        """
def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(map(repackage_hidden, h))
state = None
for x in torch.randn(3, 5, 2, 3):
    out, state = lstm(x, state)
    opt.zero_grad()
    head(out).mean().backward()
    opt.step()
""",
        [],
        ["    state = repackage_hidden(state)"],
    ),
    "an attribute that is kept for the next pass": (
        """
class Memory(nn.Module):
    last = None
    def forward(self, x):
        z = head(x)
        old = 0.0 if self.last is None else self.last
        self.last = (
            z  # kept
        )
        return z - old
memory = Memory()
for x in torch.randn(3, 2, 4):
    opt.zero_grad()
    memory(x).pow(2).mean().backward()
    opt.step()
""",
        ["            z  # kept"],
        ["            z.detach()  # kept"],
    ),
    "a write to an attribute, on two lines": (
        """
class Box: pass
box = Box()
box.h = torch.tanh(head(torch.randn(2, 4)))
box.h *= (
    2.0)
box.h.sum().backward()
""",
        ["box.h *= ("],
        ["box.h = box.h * ("],
    ),
    "an item of a list": (
        """
maps = [torch.sigmoid(head(torch.randn(2, 4))) for _ in range(2)]
maps[0] += maps[1]
maps[0].sum().backward()
""",
        ["maps[0] += maps[1]"],
        ["maps[0] = maps[0] + maps[1]"],
    ),
    "a chain of in-place calls": (
        """
h = torch.exp(head(torch.randn(2, 4)))
h.add_(1).mul_(2)  # both
h.sum().backward()
""",
        ["h.add_(1).mul_(2)  # both"],
        ["h = h.add(1).mul(2)  # both"],
    ),
    "a slice, through a copy": (
        """
h = head(torch.randn(2, 4))
y = h * h
h[:, 0] = 0.0
(y + h).sum().backward()
""",
        [],
        ["h = h.clone()"],
    ),
    "an operand that others still read": (
        """
h = head(torch.randn(2, 4))
alias = h
y = h.pow(2)
alias += 1
(y + h).sum().backward()
""",
        ["y = h.pow(2)"],
        ["y = h.clone().pow(2)"],
    ),
    "weights of losses stay": (
        """
h = torch.tanh(head(torch.randn(2, 4)))
one, two = h.pow(2).mean(), h.abs().mean()
(0.5 * one).backward()
two.backward()
""",
        ["(0.5 * one).backward()", "two.backward()"],
        ["(0.5 * one + two).backward()"],
    ),
    "updates of one loop go under one no_grad": (
        """
head(torch.randn(2, 4)).sum().backward()
for p in head.parameters():
    p -= 0.1 * p.grad
""",
        ["for p in head.parameters():", "    p -= 0.1 * p.grad"],
        ["with torch.no_grad():", "    for p in head.parameters():", "        p -= 0.1 * p.grad"],
    ),
}


@pytest.mark.parametrize(("program", "gone", "new"), OFFERS.values(), ids=list(OFFERS))
def test_the_first_offer(program: str, gone: list[str], new: list[str]) -> None:
    text = HEAD + program
    findings = check_source(Source.from_text("train.py", text)).findings
    fix = next(fix for finding in findings for fix in finding.fixes)
    assert fix.applicability is Applicability.SAFE and fix.preferred
    before, after = text.splitlines(), apply_edits(text, fix.edits).splitlines()
    assert [line for line in before if line not in after] == gone
    assert [line for line in after if line not in before] == new


@pytest.mark.parametrize(
    "update",
    [
        "w -= 0.1 * w.grad",
        "head.weight -= 0.1 * head.weight.grad",
        "for p in head.parameters():\n    p.sub_(0.1 * p.grad)",
        "for p, g in zip(head.parameters(), [p.grad for p in head.parameters()]):\n    p -= 0.1 * g",
    ],
)
def test_an_update_by_hand_goes_under_no_grad_and_nowhere_else(update: str) -> None:
    text = HEAD + f"w = torch.zeros(4, requires_grad=True)\n(head(w) + w.sum()).sum().backward()\n{update}\n"
    [finding] = check_source(Source.from_text("train.py", text)).findings
    assert [fix.title.split("` ")[-1] for fix in finding.fixes] == ["under `torch.no_grad()`"]


def test_titles_of_reordering_say_what_changes() -> None:
    example = all_rules()["GS205"].example
    [finding] = check_source(Source.from_text("train.py", example)).findings
    assert all(": " in fix.title for fix in finding.fixes if fix.applicability is Applicability.UNSAFE)
