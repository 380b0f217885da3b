"""Computed from parameters before the loop and walked in every pass: it never follows the steps.

## What happens

`cat`, `add`, `sum` and their kin save nothing for backward, so a value that is made of parameters before the loop can
be walked in every pass. Its numbers are those of the first day: each `step()` moves the parameters and not the value,
and the loss is computed from what they were.

## Fails

```python
import torch

torch.manual_seed(0)
slope, shift = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
theta = torch.cat([slope + 1.0, shift])
opt = torch.optim.SGD([slope, shift], lr=0.1)
x = torch.linspace(0, 1, 5)
seen = set()
for _ in range(4):
    loss = (theta[0] * x + theta[1]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen.add(loss.item())
assert len(seen) == 1
```

## Mended

```python
import torch

torch.manual_seed(0)
slope, shift = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([slope, shift], lr=0.1)
x = torch.linspace(0, 1, 5)
seen = set()
for _ in range(4):
    theta = torch.cat([slope + 1.0, shift])
    loss = (theta[0] * x + theta[1]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen.add(loss.item())
assert len(seen) == 4
```

## Not this

A view of a parameter (`weight.t()`, `weight[0]`) follows it and is right. A value whose graph saved something raises
in the second pass: that is GS105.

## Fixes

Move the computation into the loop. Unsafe in that the loss changes, which is the point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradsense.fixes.fix import Applicability, Fix
from gradsense.machine.events import StaleValue
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.into_loop import compute_each_pass
from gradsense.rules.wording import line_of, tensor_name


class StaleValueRule(Rule[StaleValue]):
    code, name = "GS107", "stale-value"
    listens_to = StaleValue
    outcome = "silent"

    def message(self, event: StaleValue) -> str:
        where = line_of(event.walk.place, event.culprit)
        held = tensor_name(event.held, "this value")
        return f"{held} is computed once: the walk on {where} uses what the parameters were before they moved"

    def related(self, event: StaleValue) -> Iterable[tuple[Place, str]]:
        yield event.node.place, "computed here"
        yield event.walk.place, "walked here"

    def fixes(self, event: StaleValue) -> Iterator[Fix]:
        stores = event.held.stores if event.held is not None else []
        for fix in compute_each_pass(event.held, stores, event.walk):
            yield replace(fix, applicability=Applicability.UNSAFE)
