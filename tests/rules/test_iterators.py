"""Iterators of parameters give each of them once."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.syntax import Source
from oracle import Oracle

LEFT = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
params = net.parameters()
for p in params:
    print(p.shape)
    {leave}
net(torch.randn(5, 3)).mul(100).pow(2).mean().backward()
before = net.bias.grad.clone()
nn.utils.clip_grad_norm_(params, 1.0)
torch.optim.SGD(net.parameters(), lr=0.1).step()
assert net.bias.grad.equal(before) is {in_vain}
"""


@pytest.mark.parametrize(("leave", "in_vain"), [("break", False), ("pass", True)])
def test_the_rest_of_an_iterator_is_clipped(leave: str, in_vain: bool, torch_oracle: Oracle) -> None:
    text = LEFT.format(leave=leave, in_vain=in_vain)
    assert torch_oracle.run(text).kind == "clean"
    assert [f.code for f in check_source(Source.from_text("train.py", text)).findings] == ["GS422"] * in_vain
