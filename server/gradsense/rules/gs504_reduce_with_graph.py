"""A collective on a tensor that still has its graph.

## What happens

`dist.all_reduce(loss)` writes the sum over all processes into `loss`, and leaves its graph as it was. That graph knows
nothing of the other processes, so a walk from the reduced value gives the gradients of this process alone; and as long
as the reduced value is kept for a log, its graph is kept too.

Measured on torch 2.13 (CPU, gloo): the write does not change the tensor's version, so no error shows it. A walk through
it warns: "c10d::allreduce_: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop
through it. This may lead to silently incorrect behavior."

## Fails

```python
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(32, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss)
    print(f"step {step}: {loss:.4f}")
dist.destroy_process_group()
```

## Mended

```python
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(32, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach())
    print(f"step {step}: {loss:.4f}")
dist.destroy_process_group()
```

## Not this

- Gradients: `DistributedDataParallel` averages them, and `.grad` has no graph.
- Collectives that gradients pass through, from `torch.distributed.nn.functional`.

## Fixes

- Reduce it detached: safe. `loss.detach()` shares its memory with `loss`, so `loss` shows the reduced value as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Fix
from gradsense.machine.events import ReduceWithGraph
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.finding import Severity
from gradsense.rules.wording import quoted, tensor_name


class ReduceWithGraphRule(Rule[ReduceWithGraph]):
    code, name = "GS504", "reduce-with-graph"
    listens_to = ReduceWithGraph
    outcome = "clean"

    def severity(self, event: ReduceWithGraph) -> Severity:
        return Severity.INFORMATION

    def message(self, event: ReduceWithGraph) -> str:
        return f"{tensor_name(event.tensor)} is reduced with its graph, which knows this process only: pass `.detach()`"

    def fixes(self, event: ReduceWithGraph) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        if not isinstance(call, ast.Call):
            return
        given = call.args[0] if call.args else None
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "tensor"), given)
        if given is not None:
            title = f"Reduce {quoted(code.text(given))} without its graph: `.detach()`"
            yield from safe(title, detach(code.source, code.tree, given))
