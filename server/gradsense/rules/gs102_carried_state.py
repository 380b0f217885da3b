"""A tensor of an earlier pass is still wired into this one.

## What happens

A value that goes from one pass of a loop into the next takes its graph along: a recurrent state, `self.memory`, a
moving average, a list that is never emptied. The first pass walks that graph and frees it. The second pass builds on
the value, and its walk runs back into the freed part.

`retain_graph=True` is the wrong cure. It keeps every earlier pass alive, each walk goes further back than the last,
and after the first `optimizer.step()` the error becomes "modified by an inplace operation".

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(3, 5), nn.Linear(5, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(2, 5)
for x in torch.randn(3, 2, 3):
    h = cell(x, h)  # GS102
    loss = head(h).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(3, 5), nn.Linear(5, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(2, 5)
for x in torch.randn(3, 2, 3):
    h = cell(x, h)
    loss = head(h).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    h = h.detach()
```

## Not this

A state that is walked through on purpose, once, after several steps (backpropagation through time over a window) is
right as long as it is detached where the window ends. A state made anew for each batch carries nothing.

## Fixes

- Detach the value behind the walk, or where it is put away for the next pass (safe): what this pass learns stays the
  same. Tuples, lists and dicts of states are detached item by item, with the program's own `repackage_hidden` where
  it has one.
- Start a running total that is walked itself at zero again (safe).
- Empty a list of losses after the walk, or make it inside the loop (unsafe): only this pass's losses are summed then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.carrying import cut_carried
from gradsense.rules.repairs.where_read import compute_at_each_use
from gradsense.rules.wording import line_of, op_name, store_name, tensor_name


class CarriedState(Rule[WalkedTwice]):
    code, name = "GS102", "carried-state"
    listens_to = WalkedTwice
    outcome = "raises"

    def matches(self, event: WalkedTwice) -> bool:
        return event.manner == "carried"

    def message(self, event: WalkedTwice) -> str:
        here = [store for store in event.stores if store.name and store.place.key == event.culprit.key]
        held = store_name(here[-1]) if here else tensor_name(event.held, "this value")
        walk = line_of(event.walk.place, event.culprit)
        return f"{held} carries the graph of an earlier pass, freed by then, into the walk on {walk}"

    def related(self, event: WalkedTwice) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked again here"

    def expected(self, event: WalkedTwice) -> str | None:
        return SECOND_TIME

    def fixes(self, event: WalkedTwice) -> Iterator[Fix]:
        yield from compute_at_each_use(event.stores)
        yield from cut_carried(event.held, event.stores, event.walk, event.entry)
