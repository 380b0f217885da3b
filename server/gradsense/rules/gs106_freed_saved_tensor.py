"""A saved tensor is read from a `grad_fn` after the walk freed it.

## What happens

`y.grad_fn._saved_result` and its kin show what a node keeps for backward. The walk frees these tensors, and reading
one afterwards raises the same error as a second backward. `_raw_saved_*`, `next_functions` and `name()` can still be
read.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
y = torch.sigmoid(net(torch.randn(3, 4)))
y.mean().backward()
saturated = (y.grad_fn._saved_result > 0.9).sum()  # GS106
print(saturated)
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
y = torch.sigmoid(net(torch.randn(3, 4)))
saturated = (y.grad_fn._saved_result > 0.9).sum()
y.mean().backward()
print(saturated)
```

## Not this

Reading it before the walk, or after a walk that kept the graph, is fine. So is the tensor itself: here `y` is what
`sigmoid` saved, and it is still there.

## Fixes

- Read it before the walk (safe).
- `retain_graph=True` on the walk (safe): the saved tensors stay as long as something holds the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedRead
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.repairs.rewalking import keep_graph, read_first
from gradsense.rules.wording import line_of, op_name


class FreedSavedTensor(Rule[SavedRead]):
    code, name = "GS106", "freed-saved-tensor"
    listens_to = SavedRead
    outcome = "raises"

    def message(self, event: SavedRead) -> str:
        return f"what {op_name(event.node)} saved was freed by the walk on {line_of(event.freed.place, event.culprit)}"

    def related(self, event: SavedRead) -> Iterable[tuple[Place, str]]:
        yield event.freed.place, "freed by this walk"

    def expected(self, event: SavedRead) -> str | None:
        return SECOND_TIME

    def fixes(self, event: SavedRead) -> Iterator[Fix]:
        yield from read_first(event.place, event.freed)
        yield from keep_graph(event.freed)
