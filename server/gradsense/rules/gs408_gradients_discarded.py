"""Gradients are zeroed before any step used them.

## What happens

`zero_grad()` throws away what the walks before it put into `.grad`. Between the walk and the step, or in every pass
where only every n-th pass steps, it throws away the gradients that the step was to use: of an accumulation over four
batches, the last one alone counts.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## Not this

- A generator's loss that leaves gradients in the discriminator, which are zeroed before its own step: meant so.
- A walk made only to read gradients, of an input or for a log.

## Fixes

- Zero right behind the step. Unsafe, as every fix of a silent fault: each gradient is then used by one step, and
  training goes another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import GradientsDiscarded
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.zeroing import zero_after_step
from gradsense.rules.wording import line_of


class GradientsDiscardedRule(Rule[GradientsDiscarded]):
    code, name = "GS408", "gradients-discarded"
    listens_to = GradientsDiscarded
    outcome = "silent"

    def message(self, event: GradientsDiscarded) -> str:
        where = line_of(event.walk.place, event.culprit)
        if event.early is not None:
            return f"this step finds no gradient: what the walk on {where} brings is zeroed before the next one"
        return f"what the walk on {where} put into `.grad` is zeroed here before any step uses it"

    def related(self, event: GradientsDiscarded) -> Iterable[tuple[Place, str]]:
        yield event.walk.place, "walked here"
        yield event.place, "zeroed here"

    def fixes(self, event: GradientsDiscarded) -> Iterator[Fix]:
        if event.early is None:
            yield from zero_after_step(event.place)
