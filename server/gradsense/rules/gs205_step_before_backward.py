"""A weight is changed between a forward and the backward that needs it.

## What happens

`optimizer.step()` writes to its parameters in place. A graph that saved one of them, as the weight of every layer but
the first is saved for its input's gradient, cannot be walked any more: it raises "modified by an inplace operation"
and shows the shape of a weight. It happens where two losses are computed first and walked and stepped in turn, where
a graph of an earlier pass is kept with `retain_graph=True`, and where weights are clipped, pruned, averaged or loaded
at the wrong moment.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
for state in torch.randn(3, 6, 3):
    actor_loss = -critic(actor(state)).mean()
    critic_loss = critic(actor(state).detach()).pow(2).mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()  # GS205
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
for state in torch.randn(3, 6, 3):
    critic_loss = critic(actor(state).detach()).pow(2).mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    actor_loss = -critic(actor(state)).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
```

## Not this

The first layer's weight is not saved if its input needs no gradient, so a step before its backward is fine, and so is
one of a bias alone. A step of one network is fine while the other network's graph does not go through it.

## Fixes

- Save a copy of the weight where the program itself computes with it (safe).
- Detach a value that is carried over or belongs to the other player (safe or unsafe as in GS102 and GS103), or
  compute it inside the loop.
- Compute the forward after the step (unsafe: the loss then comes from the new weights, as in most published
  algorithms).
- Step or write after the walk (unsafe: the later walk's gradients count in this step as well).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.graph import Node
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.carrying import cut_carried, detach_where_read
from gradsense.rules.repairs.copies import save_copies
from gradsense.rules.repairs.into_loop import compute_each_pass
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, quoted, tensor_name


class StepBeforeBackward(Rule[SavedModified]):
    code, name = "GS205", "step-before-backward"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner in ("step", "carried", "update")

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor, _weight_of(event.node))
        walk = line_of(event.walk.place, event.culprit)
        made = line_of(event.node.place, event.culprit)
        if event.manner == "carried":
            held = tensor_name(event.held, "a value of an earlier pass")
            return f"this step changes {name}, which the graph that {held} brings to the walk on {walk} needs as it was"
        how = "write" if event.manner == "update" else "step"
        return f"this {how} changes {name}, which the walk on {walk} needs as it was on {made}"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        first = event.node.walked
        if first is not None and first.order < event.write.order:
            yield first.place, "walked here before, which changes nothing: kept or not, the graph needs the old weight"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        if event.manner == "carried":
            yield from compute_each_pass(event.held, event.stores, event.walk)
            yield from cut_carried(event.held, event.stores, event.walk, event.entry)
        yield from save_copies(event.node, event.saved, event.write, event.walk)
        if event.manner != "carried":
            yield from detach_where_read(event.held, event.entry, event.walk, event.node)
            yield from reorder(event.node, event.saved, event.write, event.walk)


def _weight_of(node: Node) -> str:
    """A parameter without a name of its own, by the module that was called."""
    call = node.place.node
    return f"a weight of {quoted(ast.unparse(call.func))}" if isinstance(call, ast.Call) else "a weight"
