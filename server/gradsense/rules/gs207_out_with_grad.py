"""`out=` is used with tensors that require grad.

## What happens

`torch.mul(a, b, out=c)` writes into memory that is there already. torch does not differentiate that form, so it
raises as soon as an input or the output requires grad and grad mode is on.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
net, gate = nn.Linear(4, 3), torch.rand(3)
value = net(torch.randn(5, 4))
torch.mul(value, gate, out=value)  # GS207
value.sum().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
net, gate = nn.Linear(4, 3), torch.rand(3)
value = net(torch.randn(5, 4))
value = torch.mul(value, gate)
value.sum().backward()
```

## Not this

Under `no_grad`, and where nothing requires grad, `out=` is fine.

## Fixes

- Bind the result instead of passing `out=` (safe; unsafe where the buffer is read later under another name).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import callee_name
from gradsense.machine.events import OutWithGrad
from gradsense.rules.base import Rule
from gradsense.rules.repairs.out_of_place import moving
from gradsense.rules.torch_says import UNKNOWN


class OutWithGradRule(Rule[OutWithGrad]):
    code, name = "GS207", "out-with-grad"
    listens_to = OutWithGrad
    outcome = "raises"

    def message(self, event: OutWithGrad) -> str:
        return f"`{_function(event)}` writes to `out=` and cannot be differentiated, but a tensor here requires grad"

    def expected(self, event: OutWithGrad) -> str | None:
        return (
            f"RuntimeError: {_function(event)}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )

    def fixes(self, event: OutWithGrad) -> Iterator[Fix]:
        yield from moving(event.place, None)[1]


def _function(event: OutWithGrad) -> str:
    call = event.place.node
    return callee_name(call) if isinstance(call, ast.Call) else UNKNOWN
