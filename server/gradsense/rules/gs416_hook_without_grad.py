"""A hook, or `retain_grad()`, on a tensor that does not require grad.

## What happens

A hook on a tensor runs when its gradient has been computed, and `retain_grad()` keeps that gradient. A tensor that does
not require grad never gets one: it is data, a frozen parameter, or was computed under `no_grad`. torch refuses both at
once.

## Fails

```python
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
image = torch.randn(2, 4)
image.register_hook(lambda grad: print(grad.norm()))
net(image).sum().backward()
```

## Mended

```python
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
image = torch.randn(2, 4).requires_grad_()
image.register_hook(lambda grad: print(grad.norm()))
net(image).sum().backward()
```

## Not this

- `retain_grad()` on a leaf that requires grad: it does nothing, as leaves keep their gradient anyway.
- A forward that is run in evaluation too: hooks belong under `if h.requires_grad:`.

## Fixes

- `requires_grad_()` where the tensor is made: safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import HookRefused
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.leaves import requiring_grad
from gradsense.rules.wording import tensor_name


class HookWithoutGrad(Rule[HookRefused]):
    code, name = "GS416", "hook-without-grad"
    listens_to = HookRefused

    def message(self, event: HookRefused) -> str:
        what = "`retain_grad()` keeps nothing" if event.how == "retain_grad" else "the hook would never run"
        why = f": its graph ends at `{event.tensor.cuts[-1].how}`" if event.tensor.cuts else ""
        return f"{tensor_name(event.tensor)} does not require grad, so {what}{why}"

    def related(self, event: HookRefused) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"
        for cut in event.tensor.cuts[-1:]:
            yield cut.place, "its graph ends here"

    def expected(self, event: HookRefused) -> str | None:
        if event.how == "retain_grad":
            return "RuntimeError: can't retain_grad on Tensor that has requires_grad=False"
        return "RuntimeError: cannot register a hook on a tensor that doesn't require gradient"

    def fixes(self, event: HookRefused) -> Iterator[Fix]:
        if not event.tensor.cuts:
            yield from requiring_grad(event.tensor)
