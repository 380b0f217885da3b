"""Gradients of a scaled loss are clipped or stepped on as they are.

## What happens

`scaler.scale(loss).backward()` fills `.grad` with gradients that are some ten thousand times too large, so that none
is lost in half precision. `scaler.step(optimizer)` divides them before it steps. Who clips them before, or calls the
optimizer's own `step()`, works with the large ones: the norm is always cut, or the step is enormous. Nothing raises.

## Fails

```python
import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
```

## Mended

```python
import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
```

## Not this

- `GradScaler(enabled=False)`, which scales nothing.
- Files that call `unscale_`, or a scaler's `step`, on another path.

## Fixes

- `scaler.unscale_(optimizer)` before the clipping. Unsafe, as every fix of a silent fault.
- `scaler.step(optimizer)` for `optimizer.step()`, with `scaler.update()` behind it where the file has none. Unsafe for
  the same reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix, combine
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.fixes.methods import replace_expression
from gradsense.machine.events import ScaledGradients
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.wording import line_of

_SCALE = re.compile(r"([\w.]+)\.scale\(")


class ScaledGradientsRule(Rule[ScaledGradients]):
    code, name = "GS421", "scaled-gradients"
    listens_to = ScaledGradients
    outcome = "silent"

    def message(self, event: ScaledGradients) -> str:
        where = line_of(event.walk.place, event.culprit)
        what = "this step uses" if event.how == "step" else "this clips"
        return f"{what} the gradients of the scaled loss that {where} walks, before they are divided by the scale again"

    def related(self, event: ScaledGradients) -> Iterable[tuple[Place, str]]:
        yield event.walk.place, "the scaled loss is walked here"

    def fixes(self, event: ScaledGradients) -> Iterator[Fix]:
        code = code_of(event.place)
        statement, call = code.statement(event.place.node), code.expression(event.place.node)
        scaler = _SCALE.search(event.walk.place.text) if event.walk.place.source is event.place.source else None
        if scaler is None or statement is None:
            return
        name = scaler[1]
        if event.how == "clip":
            stepped = re.search(rf"\b{re.escape(name)}\.step\(\s*([\w.]+)", code.source.text)
            if stepped is not None:
                new = f"{name}.unscale_({stepped[1]})"
                yield from unsafe(f"Divide them first: `{new}`", insert_before(code.source, code.tree, statement, new))
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.args:
            new = f"{name}.step({code.text(call.func.value)})"
            edits = replace_expression(code.source, code.tree, call, new)
            if f"{name}.update(" not in code.source.text:
                edits = combine(edits, insert_after(code.source, code.tree, statement, f"{name}.update()"))
            yield from unsafe(f"Step through the scaler: `{new}`", edits)
