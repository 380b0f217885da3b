"""What a message says of a fault that comes in several shapes."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.syntax import Source

HEAD = """\
import copy
import torch
from torch import nn

y = torch.exp(torch.randn(3, requires_grad=True))
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("copy.deepcopy(y)", "`y` is no leaf, and only leaves can be deep-copied"),
        ("copy.deepcopy([y, 1])", "`y` is no leaf, and only leaves can be deep-copied"),
        (
            "net = nn.Linear(2, 2)\nnet.seen = y\ncopy.deepcopy(net)",
            "`net.seen` is no leaf, and what has it is deep-copied on line 8, which only leaves can be",
        ),
        (
            "net = nn.utils.weight_norm(nn.Linear(2, 2))\ncopy.deepcopy(net)",
            "the weight that a hook computes is no leaf, and what has it is deep-copied on line 7, which only leaves "
            "can be",
        ),
    ],
)
def test_what_is_said_of_a_deep_copy(program: str, said: str) -> None:
    (finding,) = check_source(Source.from_text("train.py", HEAD + program + "\n")).findings
    assert (finding.code, finding.message) == ("GS410", f"raises: {said}")
