"""Views of a tensor that lives on by itself are no kept graphs, however many there are."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.rules.finding import Severity
from gradsense.syntax import Source

SLICED = """\
import torch

latent = torch.randn(5, 8, requires_grad=True)
optimizer = torch.optim.Adam([latent], lr=0.05)
for step in range(60):
    loss = latent.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
names = open("names.txt").read().split()
result = {{}}
for i, name in enumerate(names):
    result[name] = {value}
print(len(result))
"""


@pytest.mark.parametrize(
    ("value", "warned"), [("latent[i]", False), ("[latent[i : i + 1]]", False), ("latent[i] * 2", True)]
)
def test_what_is_said_of_parts_that_are_kept(value: str, warned: bool) -> None:
    report = check_source(Source.from_text("project.py", SLICED.format(value=value)))
    assert [f.code for f in report.findings if f.severity.rank <= Severity.WARNING.rank] == ["GS302"] * warned
