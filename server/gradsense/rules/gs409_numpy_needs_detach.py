"""`numpy()` of a tensor that requires grad.

## What happens

An array of numpy knows nothing of gradients, so torch refuses to make one of a tensor that has a graph, and asks for
`detach()`. `np.array(x)`, `np.mean(x)` and plotting functions do the same as `x.numpy()`.

## Fails

```python
import torch
from torch import nn

model = nn.Linear(8, 3)
probabilities = model(torch.randn(32, 8)).softmax(-1)
print(probabilities.numpy().mean(0))
```

## Mended

```python
import torch
from torch import nn

model = nn.Linear(8, 3)
probabilities = model(torch.randn(32, 8)).softmax(-1)
print(probabilities.detach().numpy().mean(0))
```

## Not this

- A tensor without a graph: made under `no_grad`, an `argmax`, a target.
- `x.numpy(force=True)`, which detaches and copies to the CPU by itself.

## Fixes

- Drop `.numpy()` where the result is walked: safe, as an array has no `backward()`.
- `.detach()` before the conversion: safe. If a loss was to be computed with numpy, that is no cure: it has no gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import NumpyOfGraph
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.repairs.arrays import detached_array
from gradsense.rules.repairs.in_torch import in_torch, is_walked
from gradsense.rules.wording import line_of, tensor_name


class NumpyNeedsDetach(Rule[NumpyOfGraph]):
    code, name = "GS409", "numpy-needs-detach"
    listens_to = NumpyOfGraph
    outcome = "raises"

    def message(self, event: NumpyOfGraph) -> str:
        where = "here" if event.place.key == event.culprit.key else f"on {line_of(event.place, event.culprit)}"
        return f"{tensor_name(event.tensor)} requires grad, and an array is made of it {where}: detach it first"

    def related(self, event: NumpyOfGraph) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: NumpyOfGraph) -> str | None:
        return "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."

    def fixes(self, event: NumpyOfGraph) -> Iterator[Fix]:
        code = code_of(event.place)
        array = code.expression(event.place.node)
        if array is not None and is_walked(code, array):
            yield from safe("Keep it a tensor, as it is walked: drop `.numpy()`", in_torch(code, array))
        else:
            yield from detached_array(event)
