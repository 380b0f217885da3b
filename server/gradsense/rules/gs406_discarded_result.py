"""The result of an out-of-place method is thrown away.

## What happens

`x.detach()`, `x.clamp(0)`, `x.to(device)` return a new tensor and leave `x` as it is. As a statement of their own they
do nothing at all. So it is with a method that is named and not called, such as `optimizer.zero_grad` or
`loss.backward` without its brackets.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
logits = 100 * model(torch.randn(32, 8))
logits.clamp(-5, 5)
loss = nn.functional.cross_entropy(logits, torch.randint(0, 3, (32,)))
loss.backward()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
logits = 100 * model(torch.randn(32, 8))
logits = logits.clamp(-5, 5)
loss = nn.functional.cross_entropy(logits, torch.randint(0, 3, (32,)))
loss.backward()
```

## Not this

- Methods that work in place: their names end in `_` (`x.clamp_(0)`), and those of modules, whose `to()` moves the
  module itself.
- Other libraries whose `detach()` works in place.

## Fixes

- Give the result back to the variable: safe, that is all that the statement can have been for.
- Call the method that was only named: safe.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.remove import assign_result
from gradsense.machine.events import DiscardedResult, UselessMutation
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.wording import quoted


class DiscardedResultRule(Rule[DiscardedResult | UselessMutation]):
    code, name = "GS406", "discarded-result"
    listens_to = (DiscardedResult, UselessMutation)
    outcome = "silent"

    def message(self, event: DiscardedResult | UselessMutation) -> str:
        if isinstance(event, UselessMutation):
            return f"this does nothing: {event.what}"
        return f"{quoted(event.place.text)} returns a new tensor and changes nothing: its result is thrown away"

    def fixes(self, event: DiscardedResult | UselessMutation) -> Iterator[Fix]:
        code = code_of(event.place)
        expression = code.expression(event.place.node)
        statement = code.statement(event.place.node)
        if isinstance(event, UselessMutation):
            if isinstance(expression, ast.Attribute):
                text = f"{code.text(expression)}()"
                yield from safe(
                    f"Call it: {quoted(text)}", replace_expression(code.source, code.tree, expression, text)
                )
        elif isinstance(statement, ast.Expr):
            edits = assign_result(code.source, code.tree, statement)
            yield from safe(f"Keep the result of `{event.method}()`", edits)
