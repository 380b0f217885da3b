"""A module or functional with `inplace=True` overwrites what an operation saved.

## What happens

`nn.ReLU(inplace=True)` writes its result into its input. That is fine after a convolution, a linear layer or a batch
norm, which save their input and not their output. It is not fine where somebody saved that very tensor: the sigmoid,
softmax or ReLU that made it, or another branch that took it as its input before.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.ReLU(),
    nn.Dropout(0.5, inplace=True),  # GS202
    nn.Linear(8, 1),
)
model(torch.randn(3, 4)).mean().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(8, 1),
)
model(torch.randn(3, 4)).mean().backward()
```

## Not this

`nn.ReLU(inplace=True)` after `Conv2d`, `Linear`, `BatchNorm2d` or an addition stays unreported. In evaluation mode
`nn.Dropout` writes nothing.

## Fixes

- Turn `inplace` off where the module is made (safe), or for all modules of the file. A functional is called out of
  place.
- Save a copy where the operation takes the tensor in (safe), which keeps the memory that `inplace` saves elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.out_of_place import separate
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceModule(Rule[SavedModified]):
    code, name = "GS202", "inplace-module"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner == "module"

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor, "its input")
        where = line_of(event.node.place, event.culprit)
        writer = "this module" if event.write.module is not None else "this call"
        return f"{writer} writes {name}, which {op_name(event.node)} on {where} saved for backward"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        write = event.write
        if write.module is None:
            yield from separate(write, event.saved, event.node, event.walk)
        yield from turn_off(write.module.made if write.module is not None else None, write.place)
