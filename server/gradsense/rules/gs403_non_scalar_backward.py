"""Backward of a tensor with more than one element.

## What happens

A gradient is of one number. `backward()` and `autograd.grad` start from a tensor of one element; for a larger one, the
caller has to say with `gradient=` (`grad_outputs=`) how its elements are weighed. Most often a loss was not reduced:
`reduction="none"`, a mean over all but the batch, or weights multiplied in at the end. With batches of one element
nothing is seen of it.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss(reduction="none")
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = criterion(model(x), y)
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
criterion = nn.MSELoss(reduction="none")
for step in range(3):
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()
```

## Not this

- A walk that is given `gradient=` or `grad_outputs=`.
- A loss of shape `(1,)` or `(1, 1)`: it has one element, and that is enough.

## Fixes

- `.mean()` before the walk, as torch's own losses do by default; `.sum()` weighs each element fully, and gives every
  sample its own gradient where `autograd.grad` asks for those of the input. Both are unsafe: which is meant, the
  program does not say.
- The loss module's own `reduction="mean"`: unsafe, where something else needs the losses one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import callee_name, set_keyword
from gradsense.fixes.methods import call_method
from gradsense.machine.events import NotScalar
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import Code, code_of, unsafe
from gradsense.rules.wording import quoted, tensor_name


class NonScalarBackward(Rule[NotScalar]):
    code, name = "GS403", "non-scalar-backward"
    listens_to = NotScalar
    outcome = "raises"

    def message(self, event: NotScalar) -> str:
        shape = " x ".join("?" if size is None else str(size) for size in event.tensor.shape or ())
        return f"{tensor_name(event.tensor, 'the loss')} has {shape} elements: reduce it, or give `gradient=`"

    def related(self, event: NotScalar) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: NotScalar) -> str | None:
        return "RuntimeError: grad can be implicitly created only for scalar outputs"

    def fixes(self, event: NotScalar) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        root = _root(code, call) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and root is not None:
            methods = ("sum", "mean") if callee_name(call) == "grad" else ("mean", "sum")
            for method in methods:
                edits = call_method(code.source, code.tree, root, method)
                yield from unsafe(f"Reduce {quoted(code.text(root))}: `.{method}()`", edits)
        made = code_of(event.spot)
        constructor = made.expression(event.spot.node)
        if isinstance(constructor, ast.Call) and any(keyword.arg == "reduction" for keyword in constructor.keywords):
            edits = set_keyword(made.source, made.tree, constructor, "reduction", '"mean"')
            yield from unsafe('Let the loss reduce itself: `reduction="mean"`', edits)


def _root(code: Code, call: ast.Call) -> ast.expr | None:
    """What the walk starts from: the receiver of `backward`, or the first argument."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg in {"outputs", "tensors"}), None)
    if given is None and call.args:
        given = call.args[0]
    if given is not None:
        return None if isinstance(given, ast.List | ast.Tuple) else given
    return call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "backward" else None
