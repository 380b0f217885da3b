"""A custom Function marks an input dirty and returns another tensor.

## What happens

`ctx.mark_dirty(x)` tells autograd that `forward` wrote to `x`, so that the result takes over its place in the graph.
That only works if `x` itself is what `forward` returns. If it returns a copy or something else, torch raises when the
Function is applied.

## Fails

```python
import torch


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(-1, 1)
        ctx.mark_dirty(x)  # GS208
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


weight = torch.randn(3, requires_grad=True)
Clamp.apply(weight * 2).sum().backward()
```

## Mended

```python
import torch


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(-1, 1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


weight = torch.randn(3, requires_grad=True)
Clamp.apply(weight * 2).sum().backward()
```

## Not this

A Function that does not write to its inputs needs no mark at all.

## Fixes

- Return the marked tensor itself, where a clone of it is returned (safe).
- Drop the mark, where nothing is written (safe).
- Write to a copy and drop the mark (unsafe: the caller's tensor is no longer changed).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import DirtyNotReturned
from gradsense.rules.base import Rule
from gradsense.rules.repairs.dirty import return_what_is_marked
from gradsense.rules.wording import quoted


class DirtyNotReturnedRule(Rule[DirtyNotReturned]):
    code, name = "GS208", "dirty-not-returned"
    listens_to = DirtyNotReturned
    outcome = "raises"

    def message(self, event: DirtyNotReturned) -> str:
        call = event.marked.node
        name = quoted(ast.unparse(call.args[0])) if isinstance(call, ast.Call) and call.args else "the tensor"
        return f"{name} is marked dirty here, and `forward` returns another tensor"

    def expected(self, event: DirtyNotReturned) -> str | None:
        return (
            "RuntimeError: Some elements marked as dirty during the forward method were not returned as output. The "
            "inputs that are modified inplace must all be outputs of the Function."
        )

    def fixes(self, event: DirtyNotReturned) -> Iterator[Fix]:
        yield from return_what_is_marked(event.marked)
