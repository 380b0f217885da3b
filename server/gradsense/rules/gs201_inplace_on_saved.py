"""A tensor that an operation saved for backward is written in place.

## What happens

Every storage counts its writes. An operation that saves a tensor notes the count, and the walk compares: if somebody
wrote in the meantime, the saved values are no longer those of the forward, and torch raises. What counts is whether
the operation saved this tensor at all:

- `exp`, `sigmoid`, `tanh`, `relu`, `softmax`, `sqrt`, `norm`, `std` save their result;
- `mul`, `div`, `pow`, `matmul`, `log`, `abs`, `gelu`, `clamp`, `layer_norm`, `linear`, convolutions save an input;
- `add`, `sub`, `sum`, `mean`, `cat`, views and indexing save nothing.

There is one counter for a storage. A write to a cell that nobody saved breaks every node that saved any other cell of
it, and so does a write through a view or under `no_grad`.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 8), nn.Linear(8, 1)
residual = torch.randn(3, 8)
h = torch.tanh(encoder(torch.randn(3, 4)))
h += residual  # GS201
decoder(h).mean().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 8), nn.Linear(8, 1)
residual = torch.randn(3, 8)
h = torch.tanh(encoder(torch.randn(3, 4)))
h = h + residual
decoder(h).mean().backward()
```

## Not this

Most writes are fine and stay unreported: `x = fc(x); x += residual`, a fresh buffer filled by slices, scores masked
before their softmax, a loss divided in place. On a Python number `+=` makes a new one and writes nothing.

## Fixes

- Write out of place: `x = x + r`, `x = x.clamp(0)` (safe, or unsafe where another name shows the same tensor and is
  read later: it would no longer see the write).
- Write to a copy, `x = x.clone()` first, where only a part of the tensor is written.
- Save a copy: `fc(x.clone())`, `torch.tanh(x).clone()` (safe in any case, at the price of the copy).
- Write after the walk (unsafe), where the tensor is not visible in the operation's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.repairs.out_of_place import separate
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceOnSaved(Rule[SavedModified]):
    code, name = "GS201", "inplace-on-saved"
    listens_to = SavedModified
    outcome = "raises"

    def matches(self, event: SavedModified) -> bool:
        return event.manner == "inplace"

    def message(self, event: SavedModified) -> str:
        name = tensor_name(event.saved.tensor)
        where = line_of(event.node.place, event.culprit)
        return f"{op_name(event.node)} on {where} saved {name} for backward, and this writes it"

    def related(self, event: SavedModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        yield event.write.place, "written here"
        yield event.walk.place, "walked here"

    def expected(self, event: SavedModified) -> str | None:
        return modified(event)

    def fixes(self, event: SavedModified) -> Iterator[Fix]:
        yield from separate(event.write, event.saved, event.node, event.walk)
        yield from reorder(event.node, event.saved, event.write, event.walk)
