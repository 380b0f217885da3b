"""The memory of a saved tensor is written through a detached alias.

## What happens

`x.detach()` cuts the graph and shares the memory. A write to the detached tensor is a write to `x`, with the same
counter: if an operation saved `x`, its walk raises. Through `.data`, through `numpy()` and by an optimizer with
`fused=True` the write is not counted. Then nothing raises, and the gradient is computed from the wrong values.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
gate = torch.sigmoid(net(torch.randn(5, 4)))
shown = gate.detach()
shown[shown < 0.5] = 0  # GS204
print(shown.mean())
gate.mean().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
gate = torch.sigmoid(net(torch.randn(5, 4)))
shown = gate.detach().clone()
shown[shown < 0.5] = 0
print(shown.mean())
gate.mean().backward()
```

## Not this

A detached tensor that is only read is fine, and so is a write to it where no node saved that memory, say after an
addition. `x.detach().clone()`, `x.detach().cpu()` from a GPU and `x.detach() * 1` have memory of their own.

## Fixes

- Clone where the alias is made, `x.detach().clone()` (safe).
- Save a copy where the operation takes the tensor in (safe).
- Write or step after the walk (unsafe: what runs in between sees other values).

Where torch does not notice the write, every fix is unsafe: the gradient becomes another one, the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import SavedModified, SilentlyModified
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.copies import copy_alias, save_copies
from gradsense.rules.repairs.ordering import reorder
from gradsense.rules.torch_says import modified
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceThroughDetach(Rule[SavedModified | SilentlyModified]):
    code, name = "GS204", "inplace-through-detach"
    listens_to = (SavedModified, SilentlyModified)
    outcome = "raises"

    def matches(self, event: SavedModified | SilentlyModified) -> bool:
        return isinstance(event, SilentlyModified) or event.manner == "detach"

    def message(self, event: SavedModified | SilentlyModified) -> str:
        name = tensor_name(event.saved.tensor)
        where = f"{op_name(event.node)} on {line_of(event.node.place, event.culprit)}"
        if isinstance(event, SilentlyModified):
            how = "a fused optimizer's step" if event.write.kind == "fused" else "this write"
            return f"{how} changes {name}, which {where} saved: torch does not notice, and the gradient is wrong"
        alias = tensor_name(event.write.tensor, "this tensor")
        if alias == name:
            return f"this writes {name} through an alias, and {where} saved it for backward"
        return f"{alias} shares the storage of {name}, which {where} saved for backward: this write changes both"

    def related(self, event: SavedModified | SilentlyModified) -> Iterable[tuple[Place, str]]:
        yield event.node.place, f"{op_name(event.node)} saved it here"
        if event.write.tensor is not None and event.write.through is not None:
            yield (event.write.tensor.base or event.write.tensor).made, "the alias is made here"
        if event.walk is not None:
            yield event.walk.place, "walked here"

    def expected(self, event: SavedModified | SilentlyModified) -> str | None:
        return None if isinstance(event, SilentlyModified) else modified(event)

    def fixes(self, event: SavedModified | SilentlyModified) -> Iterator[Fix]:
        yield from copy_alias(event.write)
        yield from save_copies(event.node, event.saved, event.write, event.walk)
        if event.walk is not None:
            yield from reorder(event.node, event.saved, event.write, event.walk)
