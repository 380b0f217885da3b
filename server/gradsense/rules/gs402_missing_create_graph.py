"""A gradient is used in a loss, without create_graph=True.

## What happens

`torch.autograd.grad` gives gradients without a graph, unless `create_graph=True` asks for one. A loss that is made of
them, such as a gradient penalty, a physics residual or the loss after a step of meta-learning, then takes them for
constants. Where that is all of the loss, `backward()` raises. Beside other terms it goes through: the penalty shows in
the loss, and moves no parameter.

## Fails

```python
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(32, 4, requires_grad=True)
    score = critic(x)
    (slope,) = torch.autograd.grad(score.sum(), x, retain_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = score.mean() + 10 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(32, 4, requires_grad=True)
    score = critic(x)
    (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = score.mean() + 10 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- Meta-learning of first order (FOMAML, Reptile), which takes inner gradients for constants on purpose. Say so with
  `.detach()` on them.
- Gradients that are only shown, clipped, or used for a step under `no_grad`.

## Fixes

- `create_graph=True`: safe where the program raises without it. Unsafe where it runs, since gradients change: they get
  the second-order part that was missing. It costs memory, and about twice the time of that step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import set_keyword
from gradsense.machine.events import ConstantGradient, NoGraph
from gradsense.machine.place import Place
from gradsense.rules.base import NO_GRAPH, Rule
from gradsense.rules.editing import code_of, safe, unsafe
from gradsense.rules.repairs.walks import walk_position
from gradsense.rules.wording import line_of


class MissingCreateGraph(Rule[ConstantGradient | NoGraph]):
    code, name = "GS402", "missing-create-graph"
    listens_to = (ConstantGradient, NoGraph)
    outcome = "silent"

    def matches(self, event: ConstantGradient | NoGraph) -> bool:
        return isinstance(event, ConstantGradient) or bool(event.cuts and event.cuts[-1].how == "grad")

    def message(self, event: ConstantGradient | NoGraph) -> str:
        where = line_of(event.place, event.culprit)
        if isinstance(event, NoGraph):
            return f"this gradient has no graph of its own, and {where} walks it: pass `create_graph=True`"
        return (
            f"this gradient is part of the loss that {where} walks: without `create_graph=True` it is a constant there"
        )

    def related(self, event: ConstantGradient | NoGraph) -> Iterable[tuple[Place, str]]:
        yield event.place, "walked here"

    def expected(self, event: ConstantGradient | NoGraph) -> str | None:
        return NO_GRAPH if isinstance(event, NoGraph) else None

    def fixes(self, event: ConstantGradient | NoGraph) -> Iterator[Fix]:
        place = event.cuts[-1].place if isinstance(event, NoGraph) else event.grad_call
        code = code_of(place)
        call = code.expression(place.node)
        if isinstance(call, ast.Call):
            position = walk_position(code, call, "create_graph")
            edits = set_keyword(code.source, code.tree, call, "create_graph", "True", position)
            offer = safe if isinstance(event, NoGraph) else unsafe
            yield from offer("Give the gradient a graph: `create_graph=True`", edits)
