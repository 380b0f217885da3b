"""`retain_graph=True` beside `create_graph=True`.

## What happens

`retain_graph` takes the value of `create_graph` where it is not given: a walk whose gradients get a graph has to keep
what that graph is made of. So `retain_graph=True` says nothing new here.

## Fails

```python
import torch

x = torch.randn(5, requires_grad=True)
y = (x**3).sum()
(slope,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=True)
slope.pow(2).sum().backward()
print(x.grad)
```

## Mended

```python
import torch

x = torch.randn(5, requires_grad=True)
y = (x**3).sum()
(slope,) = torch.autograd.grad(y, x, create_graph=True)
slope.pow(2).sum().backward()
print(x.grad)
```

## Not this

- `retain_graph=True` alone: see GS303.
- `create_graph=True, retain_graph=False`, which frees the graph at once.

## Fixes

- Drop `retain_graph=True`: safe. Nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import RetainedWalk
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.walks import drop_retain_graph


class RedundantRetain(Rule[RetainedWalk]):
    code, name = "GS502", "redundant-retain"
    listens_to = RetainedWalk
    outcome = "clean"

    def matches(self, event: RetainedWalk) -> bool:
        return event.redundant

    def severity(self, event: RetainedWalk) -> Severity:
        return Severity.HINT

    def message(self, event: RetainedWalk) -> str:
        return "`create_graph=True` keeps the graph already: `retain_graph=True` adds nothing"

    def fixes(self, event: RetainedWalk) -> Iterator[Fix]:
        code = code_of(event.call)
        call = code.expression(event.call.node)
        if isinstance(call, ast.Call):
            yield from safe("Drop `retain_graph=True`", drop_retain_graph(code, call))
