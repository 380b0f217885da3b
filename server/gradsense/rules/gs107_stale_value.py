"""Computed from parameters before the loop: it never follows their steps.

## What happens

`cat`, `add`, `sum` and their kin save nothing for backward, so a value that is made of parameters before the loop can
be walked in every pass. Its numbers are those of the first day: each `step()` moves the parameters and not the value,
and the loss is computed from what they were. Nothing raises.

## Fails

```python
import torch

torch.manual_seed(0)
slope, shift = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
theta = torch.cat([slope + 1.0, shift])  # GS107
optimizer = torch.optim.SGD([slope, shift], lr=0.1)
x = torch.linspace(0, 1, 5)
for _ in range(4):
    loss = (theta[0] * x + theta[1]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())  # 2.5 each time
```

## Mended

```python
import torch

torch.manual_seed(0)
slope, shift = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([slope, shift], lr=0.1)
x = torch.linspace(0, 1, 5)
for _ in range(4):
    theta = torch.cat([slope + 1.0, shift])
    loss = (theta[0] * x + theta[1]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())  # falls
```

## Not this

A view of a parameter (`weight.t()`, `weight[0]`) follows it and is right. A value whose graph saved something raises
in the second pass: that is GS105.

## Fixes

- Compute it inside the loop (unsafe, since the loss is another one then; which is the point).
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
        held = tensor_name(event.held, "this value")
        walk = line_of(event.walk.place, event.culprit)
        return f"{held} is computed once, before the loop: the walk on {walk} uses the parameters as they were then"

    def related(self, event: StaleValue) -> Iterable[tuple[Place, str]]:
        yield event.node.place, "computed here"
        yield event.walk.place, "walked here"

    def fixes(self, event: StaleValue) -> Iterator[Fix]:
        stores = event.held.stores if event.held is not None else []
        for fix in compute_each_pass(event.held, stores, event.walk):
            yield replace(fix, applicability=Applicability.UNSAFE)
