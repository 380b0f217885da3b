"""A leaf that requires grad is written in place with grad mode on.

## What happens

A leaf is where gradients end: a parameter, or a tensor made with `requires_grad=True`. A write with grad mode on
would turn it into the result of an operation, and its gradient would go elsewhere, so torch refuses at once. `w[:] =
v` and `w[mask] = v` count as writes to the leaf, `w[0] = v` as one to a view of it.

## Fails

```python
import torch

torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    w -= 0.1 * w.grad  # GS203
    w.grad = None
print(loss.item())
```

## Mended

```python
import torch

torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
print(loss.item())
```

## Not this

`w = w - lr * w.grad` raises nothing, and makes `w` a new tensor that is no leaf: its `.grad` stays None in the next
pass. That is GS404. A write under `no_grad` is fine unless a graph that saved the leaf is still to be walked (GS205).

## Fixes

- Write under `torch.no_grad()` (safe), with neighbouring writes to the same tensor, or the loop that does nothing
  else.
- Write out of place (unsafe): the leaf keeps its value, the new tensor is part of the graph. This is what a `forward`
  wants that adds something to one of its parameters. Not offered for an update by hand, whose new tensor would have no
  `.grad`. An activation with `inplace=True` is turned off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.machine.events import LeafWritten
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.no_grad import computes_with_graph, is_update, under_no_grad
from gradsense.rules.repairs.out_of_place import moving, write_at
from gradsense.rules.wording import line_of, quoted, tensor_name


class InplaceOnLeaf(Rule[LeafWritten]):
    code, name = "GS203", "inplace-on-leaf"
    listens_to = LeafWritten
    outcome = "raises"

    def message(self, event: LeafWritten) -> str:
        kind = "a view of a leaf" if event.view else "a leaf"
        name = tensor_name(event.tensor, _written(event))
        if event.late:
            return (
                f"{name} is a view from {line_of(event.tensor.made, event.culprit)}, its base got a graph since, and "
                "torch takes the view for a leaf until it is used: take it anew before this write"
            )
        return f"{name} is {kind} that requires grad, and this writes it with grad mode on"

    def related(self, event: LeafWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: LeafWritten) -> str | None:
        return (
            f"RuntimeError: a {'view of a ' if event.view else ''}leaf Variable that requires grad is being used in an "
            "in-place operation."
        )

    def fixes(self, event: LeafWritten) -> Iterator[Fix]:
        if event.module is not None:
            yield from turn_off(event.module.made, event.place)
            return
        if event.late:
            return
        update = [*under_no_grad(event.place, tensor_name(event.tensor, _written(event)))]
        apart = [] if update and is_update(event.place) else moving(event.place, event.tensor)[1]
        yield from (*apart, *update) if computes_with_graph(event.place) else (*update, *apart)


def _written(event: LeafWritten) -> str:
    """What is written, as the statement spells it: a weight of a layer has no store of its own."""
    code = code_of(event.place)
    node = write_at(code, event.place)
    target = written_tensor(code.tree, node) if node is not None else None
    return quoted(code.text(target)) if target is not None else "this tensor"
