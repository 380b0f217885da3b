"""A list, dictionary, attribute, hook or logger keeps the graph of every step.

## What happens

A tensor that was computed from parameters holds its graph. Whatever keeps the tensor (a history, a metric's buffer,
`self.maps` in a `forward`, a forward hook, a logger that writes later) keeps the graph too, and one more each step.
A tensor that `backward()` walked keeps its nodes only; one that nothing walked keeps every activation that they saved.

Measured on torch 2.13 (CPU): each walked loss of a three-layer net keeps 11 nodes, about 8 KB; each output that was not
walked keeps its activations as well, 145 KB for the same net.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
print(f"first {history[0]:.4f}, last {history[-1]:.4f}")
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.detach())
print(f"first {history[0]:.4f}, last {history[-1]:.4f}")
```

## Not this

- A list of losses or log-probabilities that is summed, walked once and cleared, as REINFORCE does each episode.
- An attribute that each pass overwrites: it keeps one step's graph, no more.
- Where the kept tensor is what a later loss is computed from, detaching it would cut that loss off. Then the container
  has to be cleared after the walk instead.

## Fixes

- Keep the value without its graph, `.detach()` where it is stored or where it is handed to the logger: safe. Add
  `.cpu()` by hand where GPU memory is short and it is kept for long. Unsafe where the stored value itself was walked,
  since its gradient goes through the container then.
- Keep a number with `.item()`: safe, offered where the value has one element and nothing uses what is kept as a tensor.
- Clear the container after the walk: unsafe, as code that reads it later finds it empty.
- Where nothing in the loop is ever walked, `with torch.no_grad():` around it: safe.
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
from gradsense.rules.repairs.keeping import spots
from gradsense.rules.repairs.stores import fixes_of_store
from gradsense.rules.wording import growth_of, store_name


class GraphKept(Rule[GraphGrows]):
    code, name = "GS302", "graph-kept"
    listens_to = GraphGrows
    outcome = "grows"

    def matches(self, event: GraphGrows) -> bool:
        return (
            event.slot != "gradient" and not is_accumulation(event.store) and (event.walked or event.evaluation is None)
        )

    def severity(self, event: GraphGrows) -> Severity:
        return Severity.INFORMATION if event.short else Severity.WARNING

    def spot(self, event: GraphGrows) -> Place:
        given = giving(event, spots(event))
        return given.place if given is not None else event.culprit

    def message(self, event: GraphGrows) -> str:
        given = giving(event, spots(event))
        if given is not None:
            return f"{by_callee(given, 'keeps')} in {store_name(event.store)} with its graph: {growth_of(event)}"
        return f"{store_name(event.store)} keeps the graph of every pass: {growth_of(event)}"

    def fixes(self, event: GraphGrows) -> Iterator[Fix]:
        yield from fixes_of_store(event)
        yield from fixes_without_grad(event)
