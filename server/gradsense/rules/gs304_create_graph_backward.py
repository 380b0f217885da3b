"""`backward(create_graph=True)` leaves graphs in `.grad`.

## What happens

With `create_graph=True` the gradients themselves have graphs, and `backward` puts them into `.grad`. Each gradient's
graph leads back to its own parameter, a cycle that only Python's garbage collector breaks. Where `.grad` is not set to
None before the next walk, the new gradient is added to the old one, and the graph of every step stays. torch warns of
it, once: "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient
which can cause a memory leak."

Measured on torch 2.13 (CPU): with `optimizer.zero_grad()` each step nothing grows, since it sets `.grad` to None. It
grows through an input or parameter that no optimizer resets, and after `p.grad.zero_()`.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 8, requires_grad=True)
for step in range(5):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward(create_graph=True)
    optimizer.step()
print(x.grad.norm().item())
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 8, requires_grad=True)
for step in range(5):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
print(x.grad.norm().item())
```

## Not this

- `torch.autograd.grad(…, create_graph=True)`: it returns the gradients and puts nothing into `.grad`. That is the way
  to a gradient penalty, a Hessian-vector product or a step of meta-learning.

## Fixes

- Drop `create_graph=True`: offered where nothing in the program walks the gradients' graph. Unsafe, since an optimizer
  of another library that computes curvature, such as AdaHessian, does.
- Set `.grad` to None at the end of each pass: unsafe, since a gradient that adds up on purpose starts anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.keywords import drop_keyword
from gradsense.machine.events import CreateGraphBackward, GraphGrows
from gradsense.machine.graph import Node
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.walks import walk_position


class CreateGraphBackwardRule(Rule[CreateGraphBackward | GraphGrows]):
    code, name = "GS304", "create-graph-backward"
    listens_to = (CreateGraphBackward, GraphGrows)
    outcome = "grows"

    def matches(self, event: CreateGraphBackward | GraphGrows) -> bool:
        return not isinstance(event, GraphGrows) or event.slot == "gradient"

    def severity(self, event: CreateGraphBackward | GraphGrows) -> Severity:
        return Severity.WARNING if isinstance(event, GraphGrows) else Severity.INFORMATION

    def message(self, event: CreateGraphBackward | GraphGrows) -> str:
        if isinstance(event, GraphGrows):
            nodes = f"{event.nodes_per_pass} graph nodes more each"
            return f"`.grad` keeps the graph of every pass, {nodes}: `create_graph=True` gives gradients a graph"
        return "`backward(create_graph=True)` leaves `.grad` holding graphs: set it to None, or use `autograd.grad`"

    def fixes(self, event: CreateGraphBackward | GraphGrows) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        if not isinstance(call, ast.Call):
            return
        if not _is_walked(event):
            position = walk_position(code, call, "create_graph")
            edits = drop_keyword(code.source, code.tree, call, "create_graph", position)
            yield from unsafe("Drop `create_graph=True`", edits)
        loops = code.loops(call)
        leaf = _variable(event) if isinstance(event, GraphGrows) else None
        if leaf is not None and loops:
            edits = insert_after(code.source, code.tree, loops[0].body[-1], f"{leaf}.grad = None")
            yield from unsafe(f"Reset `{leaf}.grad` at the end of each pass", edits)


def _variable(event: GraphGrows) -> str | None:
    """The variable whose `.grad` it is, where that is no parameter of a module."""
    leaf = event.value.gradient_of if event.value is not None else None
    names = [] if leaf is None or leaf.parameter else [s.name for s in leaf.stores if s.kind == "name"]
    return names[-1] if names else None


def _is_walked(event: CreateGraphBackward | GraphGrows) -> bool:
    """Whether a walk went through the gradients' own graph."""
    nodes: list[Node | None] = [event.made] if isinstance(event, CreateGraphBackward) else [t.node for t in event.kept]
    return any(node is not None and node.walked is not None for node in nodes)
