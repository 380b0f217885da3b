"""`.grad` of a tensor that is not a leaf is None.

## What happens

`backward()` fills `.grad` of leaves only: parameters, and tensors made with `requires_grad=True`. What is computed from
them passes gradients on and keeps none. `torch.randn(3, requires_grad=True) * 0.1` is the result of a multiplication;
the leaf behind it has no name. `w = w - lr * w.grad` makes `w` such a result, and the next pass finds None. torch warns
when the `.grad` of one is read, and the arithmetic with None raises.

## Fails

```python
import torch

w = torch.randn(4, 1, requires_grad=True) * 0.1
for step in range(3):
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
```

## Mended

```python
import torch

w = (torch.randn(4, 1) * 0.1).requires_grad_()
for step in range(3):
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
```

## Not this

- An activation whose gradient is wanted, as for a saliency map: it is no leaf either, but `retain_grad()` right after
  it is made keeps its gradient.
- A parameter whose `.grad` is None since no loss reaches it.

## Fixes

- Scale first and call `requires_grad_()` on the result: safe, the values are the same.
- Make the computed value a new leaf, `.detach().requires_grad_()`: safe. Offered where no parameter and no other leaf
  lies behind it.
- Keep the gradient of the computed value, `retain_grad()`: safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import GradOfNonLeaf, GradOfNonLeafUsed
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.leaves import as_leaf, with_kept_gradient
from gradsense.rules.wording import line_of, tensor_name


class NonLeafGrad(Rule[GradOfNonLeaf | GradOfNonLeafUsed]):
    code, name = "GS404", "non-leaf-grad"
    listens_to = (GradOfNonLeaf, GradOfNonLeafUsed)
    outcome = "raises"

    def message(self, event: GradOfNonLeaf) -> str:
        what = "no leaf" if not event.tensor.leaf else "a tensor without a graph"
        return f"{tensor_name(event.tensor)} is {what}, so its `.grad` on {line_of(event.read, event.culprit)} is None"

    def related(self, event: GradOfNonLeaf) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"
        yield event.read, "`.grad` is read here"

    def fixes(self, event: GradOfNonLeaf) -> Iterator[Fix]:
        yield from as_leaf(event.tensor, event.culprit)
        yield from with_kept_gradient(event.tensor)
