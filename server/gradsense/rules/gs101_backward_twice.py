"""The same graph is walked a second time.

## What happens

A walk (`backward` or `autograd.grad`) uses what the forward saved and frees it at once, so that memory goes back
while the walk is still running. A second walk of the same graph finds nothing and raises at the first node that had
saved something. The loss itself looks as it did before: its value is there, its `grad_fn` too, only the saved tensors
behind it are gone.

It is often a helper that walks and a caller that walks again, or an `autograd.grad` for a log line before the real
backward.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    loss.backward()  # GS101
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

A graph that saved nothing (sums, means, views, `cat`, additions) may be walked as often as one likes. So may one that
was walked for some inputs only, as far as the second walk goes through other nodes: `autograd.grad(loss, head)` frees
the head's part and no more. `zero_grad()` between two walks changes nothing about the graph.

## Fixes

- Remove one of the two walks (safe): the second, or the first where gradients are zeroed in between.
- `retain_graph=True` on the first walk. It is safe after `autograd.grad`, whose result stands by itself. Of two
  `backward()` calls it is unsafe: gradients add up, so they would count twice.
- Compute the loss again (unsafe), where the parameters were stepped in between and the new gradient is what is
  wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.rewalking import compute_again, keep_graph, take_out, torn, walk_once, zeroed_between
from gradsense.rules.wording import line_of, op_name, tensor_name


class BackwardTwice(Rule[WalkedTwice]):
    code, name = "GS101", "backward-twice"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "same"

    def message(self, event: WalkedTwice) -> str:
        name = tensor_name(event.first.root, "this loss")
        first = line_of(event.first.place, event.culprit)
        if event.first.kind == "grad" and event.culprit.key == event.first.place.key:
            again = line_of(event.walk.place, event.culprit)
            return f"this `autograd.grad` frees the graph of {name}, which is walked again on {again}"
        return f"{name} was walked on {first} already, and that freed its graph"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        first, second = event.first, event.walk
        plain = first.kind == second.kind == "backward" and not first.partial and not second.partial
        zeroed = zeroed_between(first, second)
        if plain and zeroed and event.stepped:
            yield from compute_again(first, second)
        if plain and event.entry is None:
            yield from take_out(first if zeroed and not event.stepped else second)
        elif plain and not event.stepped:
            yield from walk_once(first, second)
        # Of two plain walks the second adds the gradients of the first once more.
        if not torn(event.meeting):
            yield from keep_graph(first, alters=plain)
