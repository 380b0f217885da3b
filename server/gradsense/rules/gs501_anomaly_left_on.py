"""Anomaly detection is left on.

## What happens

In anomaly mode torch records a traceback for every op of the forward, and looks for NaN in every gradient of the
backward. It is made for finding one fault, and then to be switched off.

Measured on torch 2.13 (CPU): a step of a small net takes from two to ten times as long, most of it for the
tracebacks.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.autograd.set_detect_anomaly(True)
for step in range(5):
    loss = model(torch.randn(32, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(32, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- Anomaly detection that a flag of the program switches on, or that is switched off again.
- `gradsense run`, which runs a step or two in anomaly mode and nothing else.

## Fixes

- Remove it: safe. Results do not change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.unwrap import unwrap_with
from gradsense.machine.events import AnomalyOn
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.finding import Severity


class AnomalyLeftOn(Rule[AnomalyOn]):
    code, name = "GS501", "anomaly-left-on"
    listens_to = AnomalyOn
    outcome = "clean"

    def severity(self, event: AnomalyOn) -> Severity:
        return Severity.INFORMATION

    def message(self, event: AnomalyOn) -> str:
        return "anomaly detection makes each step take several times as long: remove it when the fault is found"

    def fixes(self, event: AnomalyOn) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        statement = code.statement(event.place.node)
        edits: Edits | None = None
        if isinstance(statement, ast.With):
            item = next((one for one in statement.items if one.context_expr is call), None)
            edits = unwrap_with(code.source, code.tree, statement, item) if item is not None else None
        elif isinstance(statement, ast.Expr):
            edits = remove_statement(code.source, code.tree, statement)
        yield from safe("Remove anomaly detection", edits)
