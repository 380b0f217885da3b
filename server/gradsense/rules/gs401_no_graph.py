"""Backward from something that has no graph.

## What happens

`backward()` walks the graph that leads to a tensor. A tensor has none where nothing that it was computed from requires
grad, or where the graph was cut on the way: by `.detach()` or `.data`, by `.item()` or numpy, by `torch.tensor(loss)`,
which copies the values only, by a comparison, `argmax` or an integer type, which have no gradient, or by `no_grad`
around the forward. The error names the line of the backward. The line to mend is the one that cut.

`loss.requires_grad_()`, or `torch.tensor(…, requires_grad=True)`, silences the error and mends nothing: the loss
becomes a leaf, and every parameter keeps `.grad` None.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    prediction = model(x).detach()
    loss = nn.functional.mse_loss(prediction, y)
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
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- A cut beside a path that keeps its graph: a detached target, an accuracy that is printed. Nothing raises then.
- A gradient made without `create_graph=True` has no graph either, and is GS402.

## Fixes

- Drop what cuts (`.detach()`, `.item()`, a decorator or `with torch.no_grad()` around the forward), or `torch.stack`
  for `torch.tensor`: safe, as the values stay and the program did not run before. Unsafe where a `with` holds other
  statements that would be recorded, too.
- What has no gradient by nature needs another formula: the compared value itself or a sigmoid instead of the
  comparison, the probability of the class for `argmax(1) == y`, the expected class for another `argmax`, `rsample()`
  for `sample()`, no cast to an integer. Unsafe, since values change.
- What is drawn has no gradient, how likely it was has one: the log-probability where a sample is computed with, a
  sample of `gumbel_softmax` for its one-hot code. Unsafe.
- What counts: `index_add` for `bincount` with weights, a sum of probabilities for counts of likeliest classes, a soft
  histogram for `histc`. Unsafe.
- What numpy computes: the same in torch, where the few functions that it takes are there under the same names. Unsafe.
- Where `requires_grad_()` hides the loss of the graph, it goes with what cut. Unsafe, as every fix of a silent fault:
  the parameters begin to learn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Edits, Fix, combine
from gradsense.fixes.methods import drop_last
from gradsense.fixes.remove import remove_statement
from gradsense.machine.events import GraphLost, NoGraph
from gradsense.machine.place import Place
from gradsense.rules.base import NO_GRAPH, Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.repairs.cuts import repairs, uncut
from gradsense.rules.wording import line_of, tensor_name


class NoGraphRule(Rule[NoGraph | GraphLost]):
    code, name = "GS401", "no-graph"
    listens_to = (NoGraph, GraphLost)
    outcome = "raises"

    def matches(self, event: NoGraph | GraphLost) -> bool:
        return not (event.cuts and event.cuts[-1].how == "grad" and isinstance(event, NoGraph))

    def message(self, event: NoGraph | GraphLost) -> str:
        if isinstance(event, GraphLost):
            if event.how == "tensor":
                return (
                    "`torch.tensor` of tensors makes a new leaf: their graphs are lost, and `requires_grad=True` only "
                    "hides that"
                )
            return (
                f"`requires_grad_()` makes a leaf of {tensor_name(event.tensor, 'a computed value')}: the error goes"
                " away, and no parameter gets a gradient"
            )
        name = tensor_name(event.tensor, "the loss")
        if event.cuts and event.culprit.key == event.cuts[-1].place.key:
            where = line_of(event.place, event.culprit)
            return f"{name} loses its graph here (`{event.cuts[-1].how}`), and {where} walks it"
        return f"{name} has no graph: nothing that it was computed from requires grad"

    def related(self, event: NoGraph | GraphLost) -> Iterable[tuple[Place, str]]:
        for cut in event.cuts:
            yield cut.place, f"the graph is cut here: `{cut.how}`"

    def expected(self, event: NoGraph | GraphLost) -> str | None:
        if not isinstance(event, NoGraph):
            return None
        last = event.cuts[-1].how if event.cuts else ""
        if event.walk_kind == "number":
            what = "[…]" if last == "numpy" else "float"
            return f"AttributeError: '{what}' object has no attribute 'backward'"
        if last == "bincount":
            return "RuntimeError: derivative for aten::bincount is not implemented"
        return NO_GRAPH

    def fixes(self, event: NoGraph | GraphLost) -> Iterator[Fix]:
        if isinstance(event, GraphLost):
            yield from _found_again(event)
        elif event.cuts:
            yield from uncut(event.cuts[-1], event.place.node)


def _found_again(event: GraphLost) -> Iterator[Fix]:
    """Takes away what hid the loss of the graph, together with what lost it."""
    promoted = _without_promotion(event) if event.how == "promoted" else ()
    for cut in reversed(event.cuts):
        for repair in repairs(cut, event.place.node):
            also = ", without `requires_grad_()`" if promoted else ""
            yield from unsafe(f"Keep the graph: {repair.does}{also}", combine(repair.edits, promoted))
        return


def _without_promotion(event: GraphLost) -> Edits | None:
    code = code_of(event.place)
    call = code.expression(event.place.node)
    statement = code.statement(event.place.node)
    if not isinstance(call, ast.Call) or statement is None:
        return None
    if isinstance(statement, ast.Expr) and statement.value is call:
        return remove_statement(code.source, code.tree, statement)
    return drop_last(code.source, code.tree, call)
