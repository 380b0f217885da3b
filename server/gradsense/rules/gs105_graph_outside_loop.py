"""Computed from parameters once, before the loop, and walked in every pass.

## What happens

A value that depends on parameters is computed above the loop and used in it: a softmax over architecture weights,
features of a backbone, a table made in `__init__`. Its graph exists once. The first pass frees it, the second walks
into it. Even with `retain_graph=True` it would be wrong: after the first step the value no longer fits its
parameters.

## Fails

```python
import torch

torch.manual_seed(0)
theta = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([theta], lr=0.1)
gate = torch.sigmoid(theta)  # GS105
for x in torch.randn(4, 3):
    loss = (gate * x).sum().pow(2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch

torch.manual_seed(0)
theta = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([theta], lr=0.1)
for x in torch.randn(4, 3):
    gate = torch.sigmoid(theta)
    loss = (gate * x).sum().pow(2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

A view of a parameter (`weight.t()`, `weight[0]`) saves nothing and follows its parameter. A value that saved nothing
for backward does not raise either; it goes stale instead, which is GS107.

## Fixes

- Compute it inside the loop, with the statements that it is made of (safe). An attribute set in `__init__` is
  computed in `forward`; variables that its expression needs are kept in `self`.
- Detach it (unsafe): it becomes a constant, and what it was computed from is not trained through it. Not offered
  where that would leave nothing to train.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified, WalkedTwice
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.into_loop import compute_each_pass, treat_as_constant
from gradsense.rules.repairs.where_read import compute_at_each_use, compute_in_closure, compute_where_read
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class GraphOutsideLoop(Rule[WalkedTwice | SavedModified]):
    code, name = "GS105", "graph-outside-loop"
    listens_to = (WalkedTwice, SavedModified)
    outcome = "raises"

    def matches(self, event: WalkedTwice | SavedModified) -> bool:
        return event.manner == "outside_loop"

    def message(self, event: WalkedTwice | SavedModified) -> str:
        held = tensor_name(event.held, "this value")
        walk = line_of(event.walk.place, event.culprit)
        return f"{held} is computed once, before the loop, and walked in every pass on {walk}"

    def related(self, event: WalkedTwice | SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved for backward here"
        yield event.walk.place, "walked here"

    def expected(self, event: WalkedTwice | SavedModified) -> str | None:
        return SECOND_TIME if isinstance(event, WalkedTwice) else modified(event)

    def fixes(self, event: WalkedTwice | SavedModified) -> Iterator[Fix]:
        yield from compute_each_pass(event.held, event.stores, event.walk)
        yield from compute_in_closure(event.held, event.stores, event.walk)
        yield from compute_where_read(event.stores, [event.entry, event.walk])
        yield from compute_at_each_use(event.stores)
        yield from treat_as_constant(event.held, event.stores, event.walk)
