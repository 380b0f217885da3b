"""`autograd.grad`, or `backward(inputs=…)`, walks through a reentrant checkpoint.

## What happens

A checkpoint with `use_reentrant=True` runs its function again inside of the backward, and then a whole backward of its
own, which adds to the `.grad` of every leaf it meets. It cannot work for some inputs only, so torch refuses
`torch.autograd.grad` and `backward(inputs=…)` through it.

## Fails

```python
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = torch.randn(2, 4, requires_grad=True)
score = checkpoint(net, x, use_reentrant=True).sum()
saliency = torch.autograd.grad(score, x)[0]
```

## Mended

```python
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = torch.randn(2, 4, requires_grad=True)
score = checkpoint(net, x, use_reentrant=False).sum()
saliency = torch.autograd.grad(score, x)[0]
```

## Not this

- A plain `backward()` through a reentrant checkpoint.

## Fixes

- `use_reentrant=False`, the kind of checkpoint that torch recommends: safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import ReentrantWalked
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import safe
from gradsense.rules.repairs.checkpoints import other_checkpoint
from gradsense.rules.wording import line_of


class ReentrantCheckpoint(Rule[ReentrantWalked]):
    code, name = "GS418", "reentrant-checkpoint"
    listens_to = ReentrantWalked

    def message(self, event: ReentrantWalked) -> str:
        walk = line_of(event.place, event.culprit)
        return (
            f"a checkpoint with `use_reentrant=True` allows a plain `backward()` only, and {walk} asks for some inputs"
        )

    def related(self, event: ReentrantWalked) -> Iterable[tuple[Place, str]]:
        yield event.place, "walked for some inputs here"

    def expected(self, event: ReentrantWalked) -> str | None:
        return (
            "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
            "`inputs` parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
            ".backward() without passing the `inputs` argument."
        )

    def fixes(self, event: ReentrantWalked) -> Iterator[Fix]:
        yield from other_checkpoint(event.checkpoint, safe)
