"""A forward builds a graph, and no backward follows.

## What happens

With gradients on, a forward pass saves its activations for a backward that never comes. Usually they go as soon as the
output goes. Here the output is kept, so the activations of every batch stay: an evaluation then needs many times the
memory of the training step, and runs out of it on large data only.

Measured on torch 2.13 (CPU): a three-layer net keeps 145 KB for each output that nothing walks, against the few bytes
of the output itself.

In a program that trains, a forward whose output is *not* kept is pointed out as well, as information: the values of a
target network, an action that is only looked up, a validation loss. Its graph costs the time to build it and the memory
of its activations until the output goes, and nothing else.

## Fails

```python
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.body(x).softmax(-1)


model = Net().eval()
outputs = []
for batch in torch.randn(5, 32, 8):
    probabilities = model(batch)
    outputs.append(probabilities)
print(torch.cat(outputs).mean(0))
```

## Mended

```python
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.body(x).softmax(-1)


model = Net().eval()
outputs = []
with torch.no_grad():
    for batch in torch.randn(5, 32, 8):
        probabilities = model(batch)
        outputs.append(probabilities)
print(torch.cat(outputs).mean(0))
```

## Not this

- `model.eval()` alone: it switches dropout and batch norm, and leaves gradients on.
- An output that is turned into a number or a class before it is kept: `.item()` and `argmax` carry no graph.
- Outputs that a loss is computed from later, such as features of a batch in several parts: they need their graph.

## Fixes

- `with torch.no_grad():` around the loop: safe where nothing is walked in it; the values are the same.
- `with torch.no_grad():` around the one line: safe, also in a loop that trains elsewhere.
- `.detach()` where the output is stored: safe. The activations go at the end of each pass then, but are saved first.

All are unsafe in a function that hands the outputs to a caller who is not seen, and who may walk them.

- `@torch.no_grad()` on a function that trains nothing: unsafe, as it holds for everything in the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import ForwardUnused, GraphGrows
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import safe
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.evaluation import (
    fixes_without_grad,
    function_without_grad,
    quiet_function,
    statement_without_grad,
)
from gradsense.rules.repairs.stores import fixes_of_store
from gradsense.rules.wording import growth_of, store_name


class GraphNeverUsed(Rule[GraphGrows | ForwardUnused]):
    code, name = "GS305", "graph-never-used"
    listens_to = (GraphGrows, ForwardUnused)
    outcome = "grows"

    def matches(self, event: GraphGrows | ForwardUnused) -> bool:
        if isinstance(event, ForwardUnused):
            return True
        return event.slot != "gradient" and not event.walked and event.evaluation is not None

    def severity(self, event: GraphGrows | ForwardUnused) -> Severity:
        if isinstance(event, ForwardUnused) or event.short:
            return Severity.INFORMATION
        return Severity.WARNING

    def message(self, event: GraphGrows | ForwardUnused) -> str:
        if isinstance(event, ForwardUnused):
            return "this builds a graph that nothing ever walks: `torch.no_grad()` would save its time and memory"
        name = store_name(event.store)
        return f"{name} keeps a forward with its graph in every pass, and nothing walks it: {growth_of(event)}"

    def related(self, event: GraphGrows | ForwardUnused) -> Iterable[tuple[Place, str]]:
        function = quiet_function(event.place) if isinstance(event, ForwardUnused) else None
        if function is not None:
            yield Place(event.place.source, function), "nothing in this function trains"

    def fixes(self, event: GraphGrows | ForwardUnused) -> Iterator[Fix]:
        if isinstance(event, ForwardUnused):
            yield from statement_without_grad(event.place, safe, event.needed)
            yield from function_without_grad(event.place)
            return
        yield from fixes_without_grad(event)
        yield from fixes_of_store(event)
