"""What code that nobody reads may do with what it got hold of: walk a graph, or step parameters."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.syntax import Source
from oracle import Oracle

LIBRARY = """\
class trpo:
    @staticmethod
    def product(kl, parameters):
        parameters = list(parameters)
        return torch.autograd.grad(kl, parameters, create_graph=True)
"""
SURROGATE = """\
def surrogate(replays, policy, old):
    loss = 0.0
    kl = 0.0
    for states in replays:
        new, was = policy(states), old(states)
        kl += (new - was).pow(2).mean()
        loss += new.exp().mean()
    return loss / len(replays), kl / len(replays)
"""
TRAIN = """\
from torch import nn
policy, old = nn.Linear(4, 2), nn.Linear(4, 2)
for step in range(3):
    replays = torch.randn(3, 5, 4)
    loss, kl = surrogate(replays, policy, old)
    grads = torch.autograd.grad(loss, list(policy.parameters()), retain_graph=True)
    product = trpo.product(kl, policy.parameters())
    del kl, product
    for trial in range(2):
        other, kl = surrogate(replays, policy, old)
        if other < loss and kl < 0.01:
            break
"""
PROGRAM = SURROGATE + TRAIN


def found(program: str) -> list[str]:
    """The codes that are told of a program that uses the library."""
    report = check_source(Source.from_text("a.py", f"import torch\nimport trpo\n{program}"))
    return [finding.code for finding in report.findings]


def test_what_a_library_gets_hold_of_needs_its_graph(torch_oracle: Oracle) -> None:
    assert found(PROGRAM) == []
    assert torch_oracle.run(f"import torch\n{LIBRARY}{PROGRAM}").kind != "raises"
    # Neither may go.
    for kept, gone in ((", retain_graph=True", ""), ("kl += (new - was)", "kl += (new - was).detach()")):
        assert torch_oracle.run(f"import torch\n{LIBRARY}{PROGRAM.replace(kept, gone)}").kind == "raises"


def test_what_no_library_gets_is_told(torch_oracle: Oracle) -> None:
    program = PROGRAM.replace("product = trpo.product(kl, policy.parameters())", "product = kl.item()")
    assert found(program) == ["GS305", "GS303"]
    for kept, gone in ((", retain_graph=True", ""), ("kl += (new - was)", "kl += (new - was).detach()")):
        assert torch_oracle.run(f"import torch\n{LIBRARY}{program.replace(kept, gone)}").kind != "raises"


WEIGHTED = """\
policy = library.policy()
for step in range(3):
    states, weights = library.states(), library.weights(policy)
    values = policy(states)
    loss = (values * weights).mean()
    values += 1
    loss.backward()
"""
PLAYED = """\
class library:
    @staticmethod
    def policy():
        return torch.nn.Linear(3, 1)
    @staticmethod
    def states():
        return torch.randn(4, 3)
    @staticmethod
    def weights(policy):
        return torch.rand(4, 1)
"""


def test_of_two_unseen_tensors_one_may_be_data(torch_oracle: Oracle) -> None:
    report = check_source(Source.from_text("a.py", f"import torch\nimport library\n{WEIGHTED}"))
    assert report.findings == []
    assert torch_oracle.run(f"import torch\n{PLAYED}{WEIGHTED}").kind == "clean"


def test_what_an_op_keeps_of_itself_is_told(torch_oracle: Oracle) -> None:
    program = WEIGHTED.replace("policy(states)", "torch.exp(policy(states))").replace("(values * weights)", "values")
    report = check_source(Source.from_text("a.py", f"import torch\nimport library\n{program}"))
    assert [(finding.code, finding.severity.value) for finding in report.findings] == [("GS201", "warning")]
    assert torch_oracle.run(f"import torch\n{PLAYED}{program}").kind == "raises"


SAMPLED = """\
from torch import nn
policy = nn.Linear(4, 3)
for step in range(3):
    probs = policy(torch.randn(2, 4)).softmax(-1)
    actions = [probs.multinomial(1), probs.multinomial(1)]
    torch.autograd.backward(actions, [None, None])
"""
TOGETHER = """\
from torch import nn
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    total = 0
    for x in torch.randn(3, 2, 4):
        total += model(x).pow(2).mean()
    opt.zero_grad()
    torch.autograd.backward([total, library.weights(model).mean()])
    opt.step()
"""


def test_a_call_for_another_torch_makes_something_unknown(torch_oracle: Oracle) -> None:
    assert found(SAMPLED) == ["GS401"]
    assert torch_oracle.run(f"import torch\n{SAMPLED}").kind == "raises"
    before = SAMPLED.replace("multinomial(1)", "multinomial()")
    assert found(before) == []
    assert "missing 1 required positional arguments" in torch_oracle.run(f"import torch\n{before}").message


def test_what_is_walked_together_with_something_unseen_is_walked(torch_oracle: Oracle) -> None:
    report = check_source(Source.from_text("a.py", f"import torch\nimport library\n{TOGETHER}"))
    assert report.findings == []
    library = PLAYED.replace("torch.rand(4, 1)", "policy.weight * 2")
    assert torch_oracle.run(f"import torch\n{library}{TOGETHER}").kind != "raises"


GIVEN = """\
import numpy as np
import torch


class Agent:
    def __init__(self, given):
        self.held = {held}

    def step(self, states):
        states = torch.from_numpy(np.asarray(states, dtype=np.float32))
        loss = ({value} + states).pow(2).mean()
        loss.backward()
"""
CALLER = """

from types import SimpleNamespace
from torch import nn

net = nn.Linear(3, 3)
net.critic = net.forward
weight = torch.ones(3, requires_grad=True)
given = {given}
Agent(given).step([[1.0, 2.0, 3.0]])
"""


@pytest.mark.parametrize(
    ("held", "value", "given"),
    [
        ("given", "self.held(states)", "net"),
        ("given", "self.held.critic(states)", "net"),
        ("given()", "self.held(states)", "lambda: net"),
        ("given.make()", "self.held.critic(states)", "SimpleNamespace(make=lambda: net)"),
        ("given['net']", "self.held(states)", "{'net': net}"),
        ("given.get('net')", "self.held(states)", "{'net': net}"),
        ("[one for one in given][0]", "self.held(states)", "[net]"),
        ("given", "self.held * states", "weight"),
        ("given.weight", "states @ self.held", "SimpleNamespace(weight=torch.eye(3, requires_grad=True))"),
        ("given.weight", "torch.exp(self.held)", "SimpleNamespace(weight=weight)"),
        ("-given[0]", "2 * self.held", "[weight]"),
    ],
)
def test_what_a_constructor_is_given_may_have_a_graph(held: str, value: str, given: str, torch_oracle: Oracle) -> None:
    text = GIVEN.format(held=held, value=value)
    assert torch_oracle.run(text + CALLER.format(given=given)).kind == "clean"
    assert [f.message for f in check_source(Source.from_text("agent.py", text)).findings if f.expected] == []


def test_what_a_constructor_makes_itself_is_known(torch_oracle: Oracle) -> None:
    text = GIVEN.format(held="torch.ones(3)", value="self.held * states")
    assert torch_oracle.run(text + CALLER.format(given="0")).kind == "raises"
    assert [f.code for f in check_source(Source.from_text("agent.py", text)).findings if f.expected] == ["GS401"]


OPTIMIZERS = """\
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(3, 4), nn.Linear(3, 2)
before = head.weight.detach().clone()
first = torch.optim.SGD(body.parameters(), lr=0.1)
second = eval("torch.optim.AdamW")({given}, lr=0.1)
for step in range(3):
    x = torch.randn(5, 3)
    loss = body(x).pow(2).mean() + head(x).pow(2).mean()
    first.zero_grad()
    second.zero_grad()
    loss.backward()
    first.step()
    second.step()
assert head.weight.equal(before) is {still}
"""


@pytest.mark.parametrize(
    ("given", "still"),
    [
        ("head.parameters()", False),
        ("[p for _, p in head.named_parameters()]", False),
        ("[{'params': head.parameters(), 'weight_decay': 0.1}]", False),
        ("body.parameters()", True),
    ],
)
def test_an_optimizer_of_another_library_may_step_what_it_is_given(
    given: str, still: bool, torch_oracle: Oracle
) -> None:
    text = OPTIMIZERS.format(given=given, still=still)
    assert torch_oracle.run(text).kind == "clean"
    assert [f.code for f in check_source(Source.from_text("train.py", text)).findings] == ["GS407"] * still
