"""`.item()` in every pass of a loop on the GPU.

## What happens

Python runs ahead of the GPU: it queues the work of a step and goes on. `.item()` needs the number, so it waits until
all queued work is done, and the GPU then waits in turn for Python to queue the next step. One such wait a step is
often the reason that a small model does not keep a GPU busy.

## Fails

```python
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(5):
    loss = model(torch.randn(32, 8, device=device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"mean loss {total / 5:.4f}")
```

## Mended

```python
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(5):
    loss = model(torch.randn(32, 8, device=device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
print(f"mean loss {total / 5:.4f}")
```

## Not this

- `.item()` once in many steps, for a log line, or once after the loop.
- Steps that take long, or that wait for data anyway: then the wait costs nothing.
- `total += loss` without `.detach()` is no cure: it keeps every step's graph (GS301).

## Fixes

- Add up detached tensors: unsafe, as the total becomes a tensor, in `float32`. Take one `.item()` where it is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.methods import rename_method, replace_expression
from gradsense.fixes.scalarise import is_running_total
from gradsense.machine.events import SyncEachStep
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.finding import Severity
from gradsense.rules.wording import quoted, tensor_name


class SyncEachStepRule(Rule[SyncEachStep]):
    code, name = "GS503", "sync-each-step"
    listens_to = SyncEachStep
    outcome = "clean"

    def matches(self, event: SyncEachStep) -> bool:
        return _is_unconditional(event)

    def severity(self, event: SyncEachStep) -> Severity:
        return Severity.INFORMATION

    def message(self, event: SyncEachStep) -> str:
        return (
            f"each pass waits here until the GPU has computed {tensor_name(event.tensor)}: add up detached tensors, and"
            " take one `.item()` at the end"
        )

    def fixes(self, event: SyncEachStep) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        statement = code.statement(event.place.node)
        if statement is None or not isinstance(call, ast.Call) or not is_running_total(statement):
            return
        edits: Edits | None
        if isinstance(call.func, ast.Attribute):
            value = call.func.value
            edits = rename_method(code.source, code.tree, call, "detach")
        else:
            value = call.args[0]
            edits = replace_expression(code.source, code.tree, call, f"({code.text(value)}).detach()")
        yield from unsafe(f"Add up {quoted(code.text(value))} detached: `.detach()`", edits)


def _is_unconditional(event: SyncEachStep) -> bool:
    """Whether every pass of the innermost loop waits: no `if` stands between the loop and the line."""
    code = code_of(event.place)
    node = code.twin(event.place.node)
    for around in reversed(code.ancestors(node)) if node is not None else ():
        if isinstance(around, ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.Lambda):
            return True
        if isinstance(around, ast.If | ast.IfExp | ast.ExceptHandler | ast.match_case):
            return False
    return True
