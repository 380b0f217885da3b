"""A running total keeps the graph of every step.

## What happens

`total += loss` makes `total` the result of an addition whose inputs are the old total and this step's loss. So its
graph leads back through every step so far, for as long as `total` lives. `backward()` frees the activations that the
nodes saved, not the nodes: nothing raises, and memory climbs until something else fails.

Measured on torch 2.13 (CPU): a three-layer net keeps 11 nodes, about 8 KB, more each step. Where the loss is never
walked, as in an evaluation with gradients on, the activations stay as well: 145 KB a step for the same net.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(f"mean loss {total / 5:.4f}")
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"mean loss {total / 5:.4f}")
```

## Not this

- A sum of losses that is walked afterwards, such as the terms of one step: its graph is needed, and freed by that walk.
- A total of numbers, of counts of correct answers (a comparison carries no graph), or of anything made under `no_grad`.
- Gradient accumulation: that adds up in `.grad`, which holds no graph.

## Fixes

- Accumulate a number with `.item()`: safe. Offered first where the total is not used as a tensor later. On a GPU it
  waits for the device once a step.
- Accumulate without the graph with `.detach()`: safe. The total stays a tensor on its device, and one `.item()` at the
  end waits once. Right before an `all_reduce`, too.
- Where the total is walked itself, detach what it brings along from the pass before: unsafe, as gradients no longer
  reach back there.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import GraphGrows
from gradsense.machine.place import Place
from gradsense.rules.accumulation import is_accumulation
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.evaluation import fixes_without_grad
from gradsense.rules.repairs.handing import by_callee, giving
from gradsense.rules.repairs.totals import fixes_of_total, summands
from gradsense.rules.wording import growth_of, store_name


class LossAccumulation(Rule[GraphGrows]):
    code, name = "GS301", "loss-accumulation"
    listens_to = GraphGrows
    outcome = "grows"

    def matches(self, event: GraphGrows) -> bool:
        return event.slot != "gradient" and is_accumulation(event.store) and (event.walked or event.evaluation is None)

    def severity(self, event: GraphGrows) -> Severity:
        return Severity.INFORMATION if event.short else Severity.WARNING

    def spot(self, event: GraphGrows) -> Place:
        given = giving(event, summands(event))
        return given.place if given is not None else event.culprit

    def message(self, event: GraphGrows) -> str:
        given = giving(event, summands(event))
        if given is not None:
            return f"{by_callee(given, 'adds')} to {store_name(event.store)} with its graph: {growth_of(event)}"
        return f"{store_name(event.store)} adds up tensors and keeps the graph of every pass: {growth_of(event)}"

    def fixes(self, event: GraphGrows) -> Iterator[Fix]:
        yield from fixes_of_total(event)
        yield from fixes_without_grad(event)
