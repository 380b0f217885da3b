"""Several losses share one forward and are walked one by one.

## What happens

Two heads on one trunk, an actor and a critic, the terms of a variational loss: each loss has its own end, and they
meet in the part that was computed once. The first `backward()` frees that part. The second one runs into it.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
trunk, left, right = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
parameters = [*trunk.parameters(), *left.parameters(), *right.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for x in torch.randn(3, 6, 4):
    h = torch.tanh(trunk(x))
    first, second = left(h).pow(2).mean(), right(h).abs().mean()
    optimizer.zero_grad()
    first.backward()
    second.backward()  # GS103
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
trunk, left, right = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
parameters = [*trunk.parameters(), *left.parameters(), *right.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for x in torch.randn(3, 6, 4):
    h = torch.tanh(trunk(x))
    first, second = left(h).pow(2).mean(), right(h).abs().mean()
    optimizer.zero_grad()
    (first + second).backward()
    optimizer.step()
```

## Not this

Two walks over two forwards are fine. So are two walks over a shared part that saved nothing, and walks that keep the
graph for all but the last. Where an optimizer stepped between the walks, summing the losses is not the same program:
then the shared part is detached for the second loss, or computed again.

## Fixes

- Walk the sum of the losses once (safe): gradients add up either way, and it costs one walk instead of two.
- `retain_graph=True` on the first walk (safe), where the two cannot be joined and no step lies between them.
- Detach the shared tensor where the second loss takes it in (unsafe): that loss no longer trains the shared part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.carrying import detach_where_read
from gradsense.rules.repairs.rewalking import keep_graph, walk_once
from gradsense.rules.wording import line_of, op_name, tensor_name


class SharedGraph(Rule[WalkedTwice]):
    code, name = "GS103", "shared-graph"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "shared"

    def message(self, event: WalkedTwice) -> str:
        shared = tensor_name(event.held, "the shared part")
        first = line_of(event.first.place, event.culprit)
        if event.stepped:
            return f"{shared} was freed by the walk on {first}, and its parameters moved: detach it, or make it anew"
        return f"{shared} was freed by the walk on {first}: walk the sum of the losses once"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        if event.first.kind == event.walk.kind == "backward":
            yield from walk_once(event.first, event.walk)
        if not event.stepped:
            yield from keep_graph(event.first)
        yield from detach_where_read(event.held, event.entry, event.walk, event.node)
