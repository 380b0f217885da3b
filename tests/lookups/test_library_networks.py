"""Networks of libraries, whose code nobody reads: what is certain of them, and what is not."""

from __future__ import annotations

from gradsense.check import Project, check_source
from gradsense.machine.outside import Kind, Known, Outside
from gradsense.syntax import Source
from oracle import Oracle

KEEPS = "return self.fc(x + state), torch.tanh(self.fc(state))"
DETACHES = "state = state.detach()\n        return self.fc(x + state), torch.tanh(self.fc(state)).detach()"
LIBRARY = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x, state=torch.ones(2, 3)):
        {body}
"""
START = "net = Net()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
CARRIES = """\
state = torch.zeros(2, 3)
for step in range(3):
    out, state = net(torch.ones(2, 3), state)
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()
"""
WALKS_TWICE = """\
loss = net(torch.ones(2, 3))[0].pow(2).mean()
loss.backward()
loss.backward()
"""


def found(program: str) -> list[tuple[str, str]]:
    """The codes and severities in a program that imports the network of a library."""
    outside = Outside({"nets.Net": Known(Kind.NETWORK)})
    text = "import torch\nfrom nets import Net\n" + START + program
    findings = check_source(Source.from_text("a.py", text), Project(outside=outside)).findings
    return [(finding.code, finding.severity.value) for finding in findings]


def test_a_state_that_goes_through_it_may_come_back_detached(torch_oracle: Oracle) -> None:
    assert found(CARRIES) == [("GS102", "warning")]
    assert torch_oracle.run(LIBRARY.format(body=KEEPS) + START + CARRIES).kind == "raises"
    assert torch_oracle.run(LIBRARY.format(body=DETACHES) + START + CARRIES).kind == "clean"


def test_its_own_graph_is_certain(torch_oracle: Oracle) -> None:
    assert found(WALKS_TWICE) == [("GS101", "error")]
    for body in (KEEPS, DETACHES):
        assert torch_oracle.run(LIBRARY.format(body=body) + START + WALKS_TWICE).kind == "raises"
