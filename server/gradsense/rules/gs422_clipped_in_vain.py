"""Gradients are clipped in front of the walk, or behind the step.

## What happens

`clip_grad_norm_` changes what is in `.grad` when it is called. Between `zero_grad()` and `backward()` there is nothing,
and behind `step()` there is what has been used already and is zeroed next: training runs as if nothing were clipped.
So it does where the parameters come from an iterator, such as `model.parameters()` or `filter(…)` under a name, that an
optimizer or a loop took them from before: it gives them once.

## Fails

```python
import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(16, 8), 100 * torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
```

## Mended

```python
import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(16, 8), 100 * torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

## Not this

- A call whose result is used, or with an infinite bound: it measures the norm.

## Fixes

- Clip between the walk and the step. Unsafe, as every fix of a silent fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.move import move_after, move_before
from gradsense.machine.events import ClippedInVain
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.wording import line_of


class ClippedInVainRule(Rule[ClippedInVain]):
    code, name = "GS422", "clipped-in-vain"
    listens_to = ClippedInVain
    outcome = "silent"

    def message(self, event: ClippedInVain) -> str:
        if event.used_up is not None:
            where = line_of(event.used_up, event.culprit)
            return f"an iterator gives its parameters once, and {where} took them: this clips nothing"
        if event.step is not None:
            where = line_of(event.step, event.culprit)
            return f"this clips gradients that the step on {where} has used already: it changes nothing"
        where = line_of(event.walk.place, event.culprit) if event.walk is not None else "a later line"
        return f"there is no gradient to clip here: the walk on {where} brings them, and they are gone when this comes"

    def related(self, event: ClippedInVain) -> Iterable[tuple[Place, str]]:
        if event.step is not None:
            yield event.step, "stepped here"
        if event.walk is not None:
            yield event.walk.place, "walked here"
        if event.used_up is not None:
            yield event.used_up, "taken here"

    def fixes(self, event: ClippedInVain) -> Iterator[Fix]:
        if event.used_up is not None:
            return
        anchor = event.step or (event.walk.place if event.walk is not None else None)
        if anchor is None or anchor.source is not event.place.source:
            return
        code = code_of(event.place)
        statement, other = code.statement(event.place.node), code.statement(anchor.node)
        if statement is not None and other is not None:
            move = move_before if event.step is not None else move_after
            yield from unsafe("Clip between the walk and the step", move(code.source, code.tree, statement, other))
