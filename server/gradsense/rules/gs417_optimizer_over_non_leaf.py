"""An optimizer is made over a tensor that is not a leaf.

## What happens

An optimizer changes leaves: parameters, and tensors made with `requires_grad=True`. A product such as
`torch.randn(3, requires_grad=True) * 0.1`, or `.cuda()` of such a leaf, is a new tensor that was computed from it, and
keeps no gradient for a step to use. torch refuses it when the optimizer is made.

## Fails

```python
import torch

latent = torch.randn(1, 8, requires_grad=True) * 0.1
optimizer = torch.optim.Adam([latent], lr=0.01)
loss = (latent - 1).pow(2).sum()
loss.backward()
optimizer.step()
```

## Mended

```python
import torch

latent = (torch.randn(1, 8) * 0.1).requires_grad_()
optimizer = torch.optim.Adam([latent], lr=0.01)
loss = (latent - 1).pow(2).sum()
loss.backward()
optimizer.step()
```

## Not this

- A computed tensor on which `retain_grad()` was called: torch takes it, as it keeps its gradient.
- `nn.Parameter(...)` around the computation: that is a new leaf.

## Fixes

- Compute first and call `requires_grad_()` on the result: safe, the values are the same.
- Make the computed value a new leaf, `.detach().requires_grad_()`: safe. Offered where no parameter and no other leaf
  lies behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import NonLeafOptimized
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.leaves import as_leaf
from gradsense.rules.wording import op_name, tensor_name


class OptimizerOverNonLeaf(Rule[NonLeafOptimized]):
    code, name = "GS417", "optimizer-over-non-leaf"
    listens_to = NonLeafOptimized

    def message(self, event: NonLeafOptimized) -> str:
        node = event.tensor.node
        how = f" by {op_name(node)}" if node is not None else ""
        return f"{tensor_name(event.tensor)} was computed{how}, and an optimizer takes leaves only"

    def related(self, event: NonLeafOptimized) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "computed here"

    def expected(self, event: NonLeafOptimized) -> str | None:
        return "ValueError: can't optimize a non-leaf Tensor"

    def fixes(self, event: NonLeafOptimized) -> Iterator[Fix]:
        yield from as_leaf(event.tensor, event.tensor.made)
