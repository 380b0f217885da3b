"""`retain_graph=True` that no later walk needs.

## What happens

A plain `backward()` frees what each node saved as it passes. With `retain_graph=True` all of it stays until the loss
itself goes: the next forward then runs while the last step's activations are still there, so peak memory is higher.
It raises nothing and leaks nothing by itself. But it also silences the error that would show a graph carried over
from an earlier step (GS102), and that does leak.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- Several walks over one graph, retained on all but the last: two losses of one forward, a Jacobian row by row,
  `autograd.grad` for a log and `backward` after it.
- A function whose callers are not seen: one of them may walk the graph again.

## Fixes

- Drop `retain_graph=True`: safe. No walk of the program goes through what it keeps, on any path that was followed.
- Where it hides a carried graph, detach what is carried as for GS102, and drop it. Unsafe, as every fix of a silent
  fault: gradients no longer reach back into earlier passes, as they should not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, Fix, combine
from gradsense.fixes.insert import detach_after
from gradsense.machine.events import RetainedWalk
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.walks import drop_retain_graph
from gradsense.rules.wording import line_of, quoted


class RetainGraph(Rule[RetainedWalk]):
    code, name = "GS303", "retain-graph"
    listens_to = RetainedWalk
    outcome = "clean"

    def matches(self, event: RetainedWalk) -> bool:
        return not event.redundant

    def severity(self, event: RetainedWalk) -> Severity:
        return Severity.WARNING if event.hides is not None else Severity.INFORMATION

    def message(self, event: RetainedWalk) -> str:
        if event.hides is not None:
            where = line_of(event.hides, event.culprit)
            return (
                f"`retain_graph=True` hides a graph that {where} carries from pass to pass: every walk goes back to the"
                " first pass and takes longer than the one before"
            )
        return (
            "no later walk needs what `retain_graph=True` keeps: it costs memory, and would hide a graph that is"
            " carried from one step to the next"
        )

    def fixes(self, event: RetainedWalk) -> Iterator[Fix]:
        code = code_of(event.call)
        call = code.expression(event.call.node)
        dropped = drop_retain_graph(code, call) if isinstance(call, ast.Call) else None
        if event.hides is None:
            yield from safe("Drop `retain_graph=True`", dropped)
        elif isinstance(call, ast.Call):
            yield from _detached_each_pass(code, call, event.hides, dropped)


def _detached_each_pass(code: Code, call: ast.Call, hides: Place, dropped: Edits | None) -> Iterator[Fix]:
    """Detaches the carried variable at the end of each pass, so that the graph need not be retained."""
    loops = code.loops(call)
    statement = code.statement(hides.node) if hides.source is code.source else None
    if not loops or not isinstance(statement, ast.Assign) or loops[0] not in code.loops(statement):
        return
    target = statement.targets[0]
    edits = detach_after(code.source, code.tree, loops[0].body[-1], target)
    title = f"Detach {quoted(code.text(target))} at the end of each pass, and drop `retain_graph=True`"
    yield from unsafe(title, combine(edits, dropped))
