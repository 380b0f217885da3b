"""`requires_grad_(False)` on a tensor that was computed.

## What happens

Only a leaf may change its `requires_grad`. A computed tensor needs grad because what it was made of does; torch refuses
to say otherwise and asks for `detach()`.

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

## Fixes

- Bind the name to its detached value: safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import RequiresGradOfNonLeaf
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.leaves import detached_instead
from gradsense.rules.wording import tensor_name


class RequiresGradOfNonLeafRule(Rule[RequiresGradOfNonLeaf]):
    code, name = "GS413", "requires-grad-of-non-leaf"
    listens_to = RequiresGradOfNonLeaf

    def message(self, event: RequiresGradOfNonLeaf) -> str:
        name = tensor_name(event.tensor)
        return f"{name} was computed from what requires grad, and only a leaf can stop requiring it: detach it"

    def related(self, event: RequiresGradOfNonLeaf) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "computed here"

    def expected(self, event: RequiresGradOfNonLeaf) -> str | None:
        return (
            "RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a computed "
            "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )

    def fixes(self, event: RequiresGradOfNonLeaf) -> Iterator[Fix]:
        yield from detached_instead(event.place)
