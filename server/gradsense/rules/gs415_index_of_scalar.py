"""A tensor without dimensions is indexed.

## What happens

A loss, like everything that is reduced to one number, is a tensor without dimensions. Up to torch 0.3 it had one, and
`loss.data[0]` was the way to its number, so old programs and answers are full of it. Since then there is nothing to
index, and torch raises. The number is `loss.item()`.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.data[0]
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
```

## Not this

`loss[None]` and `loss[...]` add a dimension, or none, and raise nothing. A loss with `reduction="none"` has dimensions.

## Fixes

- Take the number, `.item()`, where the value has no graph: safe.
- Drop the index, where it has one: safe. What follows may be a backward.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.machine.events import ScalarIndexed
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.repairs.leaves import method_text
from gradsense.rules.wording import quoted


class IndexOfScalar(Rule[ScalarIndexed]):
    code, name = "GS415", "index-of-scalar"
    listens_to = ScalarIndexed
    outcome = "raises"

    def message(self, event: ScalarIndexed) -> str:
        code = code_of(event.place)
        node = code.expression(event.place.node)
        indexed = quoted(code.text(node.value)) if isinstance(node, ast.Subscript) else "this tensor"
        return f"{indexed} has no dimensions, so there is nothing to index: its number is `.item()`"

    def related(self, event: ScalarIndexed) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: ScalarIndexed) -> str | None:
        return "IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python"

    def fixes(self, event: ScalarIndexed) -> Iterator[Fix]:
        code = code_of(event.place)
        node = code.expression(event.place.node)
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            return
        value = node.value
        if event.has_graph:
            edits = replace_expression(code.source, code.tree, node, code.text(value))
            yield from safe(f"Drop the index: {quoted(code.text(value))}", edits)
            return
        while isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        new = f"{method_text(code, value)}.item()"
        yield from safe(f"Take the number: {quoted(new)}", replace_expression(code.source, code.tree, node, new))
