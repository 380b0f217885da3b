"""`requires_grad` is set on a tensor that was computed.

## What happens

Only a leaf may change its `requires_grad`. A computed tensor needs grad because what it was made of does; torch refuses
to say otherwise and asks for `detach()`. `x.requires_grad = True` is refused as well, though it would change nothing:
an attack that moves its image in a loop meets this in the second pass, when the image is no leaf any more.

## Fails

```python
import torch
from torch import nn

net = nn.Linear(3, 2)
features = net(torch.randn(4, 3))
features.requires_grad_(False)
print(features.mean())
```

## Mended

```python
import torch
from torch import nn

net = nn.Linear(3, 2)
features = net(torch.randn(4, 3))
features = features.detach()
print(features.mean())
```

## Not this

- `requires_grad_(False)` on a parameter or an input: that is how a network is frozen.
- `requires_grad_()` on a computed tensor: torch lets it be, since nothing changes.

## Fixes

- Bind the name to its detached value: safe.
- Where it was to require grad, bind the name to a detached value that does: unsafe, since what it was computed from
  gets no gradient through it then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import RequiresGradOfNonLeaf
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.leaves import detached_instead, leaf_instead
from gradsense.rules.wording import tensor_name


class RequiresGradOfNonLeafRule(Rule[RequiresGradOfNonLeaf]):
    code, name = "GS413", "requires-grad-of-non-leaf"
    listens_to = RequiresGradOfNonLeaf

    def message(self, event: RequiresGradOfNonLeaf) -> str:
        name = tensor_name(event.tensor)
        if event.wanted:
            return f"{name} was computed from what requires grad, and only a leaf's flag can be set: detach it first"
        return f"{name} was computed from what requires grad, and only a leaf can stop requiring it: detach it"

    def related(self, event: RequiresGradOfNonLeaf) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "computed here"

    def expected(self, event: RequiresGradOfNonLeaf) -> str | None:
        if event.wanted:
            return "RuntimeError: you can only change requires_grad flags of leaf variables."
        return (
            "RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a computed "
            "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )

    def fixes(self, event: RequiresGradOfNonLeaf) -> Iterator[Fix]:
        yield from leaf_instead(event.place) if event.wanted else detached_instead(event.place)
