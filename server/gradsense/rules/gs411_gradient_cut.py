"""A value is cut off from a parameter that an optimizer steps, so that the parameter never gets a gradient.

## What happens

`detach()`, `.data`, `round()`, `sign()`, `argmax()`, `.item()` and `torch.tensor(…)` give a value without a graph. Where that
value goes into a loss beside others that have one, `backward()` works and the optimizer steps, but every parameter that is
reached through the cut alone keeps `.grad` None: it stays as it was initialised, and nothing says so.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
scale = nn.Parameter(torch.ones(3))
net = nn.Linear(3, 1)
opt = torch.optim.SGD([scale, *net.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(4, 3)
    loss = net(x * scale.round()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
assert scale.grad is None
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
scale = nn.Parameter(torch.ones(3))
net = nn.Linear(3, 1)
opt = torch.optim.SGD([scale, *net.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(4, 3)
    loss = net(x * scale).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
assert scale.grad is not None
```

## Not this

A detached copy beside a path that keeps its graph, a network that no optimizer holds, a target under `no_grad`.

## Fixes

Taking the cut away restores the gradient. It is unsafe: where the parameter was meant to be frozen, take it out of the
optimizer instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import NeverReached
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.wording import tensor_name


class GradientCut(Rule[NeverReached]):
    code, name = "GS411", "gradient-cut"
    listens_to = NeverReached
    outcome = "silent"

    def severity(self, event: NeverReached) -> Severity:
        # `detach()` is written on purpose more often than by mistake.
        return Severity.INFORMATION if event.cut.how in ("detach", "data", "detach_") else Severity.WARNING

    def message(self, event: NeverReached) -> str:
        parameter = tensor_name(event.parameter, "a parameter that the optimizer steps")
        return f"the graph to {parameter} ends here (`{event.cut.how}`): it never gets a gradient"

    def related(self, event: NeverReached) -> Iterable[tuple[Place, str]]:
        yield event.parameter.made, "the parameter is made here"
        yield event.walk.place, "walked here"
