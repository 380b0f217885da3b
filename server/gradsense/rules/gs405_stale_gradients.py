"""Gradients are never zeroed between steps.

## What happens

`backward()` adds to `.grad`. Where nothing zeroes it, each step uses the gradients of all steps before as well: the
step grows longer and longer, a kind of momentum that never fades. Nothing raises, and the loss may even fall for a
while. The same where one player's walk fills another's parameters, a generator's those of the discriminator: if they
are not zeroed before the other's own walk, its step uses both.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- Gradient accumulation: several walks, one step, then zeroed. Each gradient is used by one step only.
- Walks whose gradients another optimizer uses, and several losses of one player, walked one by one.
- A joint loss and then one more for a part of it, where both optimizers zeroed before: that may be meant, and is told
  as information only.

## Fixes

- `zero_grad()` before the only walk of a step, or behind the step where there are several walks. Unsafe, as every fix
  of a silent fault: each step then uses its own gradients and nothing else, so training goes another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import LeftoverGradients, StaleGradients
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.zeroing import zero_before, zero_each_step
from gradsense.rules.wording import line_of


class StaleGradientsRule(Rule[StaleGradients | LeftoverGradients]):
    code, name = "GS405", "stale-gradients"
    listens_to = (StaleGradients, LeftoverGradients)
    outcome = "silent"

    def severity(self, event: StaleGradients | LeftoverGradients) -> Severity:
        if isinstance(event, LeftoverGradients) and event.both:
            return Severity.INFORMATION
        return super().severity(event)

    def message(self, event: StaleGradients | LeftoverGradients) -> str:
        where = line_of(event.step, event.culprit)
        if isinstance(event, LeftoverGradients):
            left = line_of(event.walk.place, event.culprit)
            return f"gradients add up: the step on {where} also uses what the walk on {left} left in these parameters"
        return f"gradients add up: the step on {where} uses those of earlier steps again, as nothing zeroes them"

    def related(self, event: StaleGradients | LeftoverGradients) -> Iterable[tuple[Place, str]]:
        if isinstance(event, LeftoverGradients):
            yield event.walk.place, "left here"
        yield event.step, "stepped here"

    def fixes(self, event: StaleGradients | LeftoverGradients) -> Iterator[Fix]:
        if isinstance(event, LeftoverGradients):
            yield from zero_before(event.own.place, event.step)
        else:
            yield from zero_each_step(event.walk.place, event.step)
