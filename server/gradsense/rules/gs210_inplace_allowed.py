"""A tensor with a graph is written in place, and torch allows it.

## What happens

This is a hint: the code is right. A write to a tensor with a graph raises only if an operation saved that tensor. The
one that made it did not: a linear layer saves its input and its weight, an addition saves nothing. The hint names the
operation and what it keeps, for those who have learnt that `x += y` breaks autograd.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(4, 8), nn.Linear(8, 1)
h = first(torch.randn(3, 4))
h += 2  # GS210
second(h).sum().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(4, 8), nn.Linear(8, 1)
h = first(torch.randn(3, 4))
h = h + 2
second(h).sum().backward()
```

## Not this

If something else saved the tensor before the write, it raises: that is GS201.

## Fixes

- Write out of place (safe). It costs one tensor more and keeps working if an activation is put in between one day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import InplaceAllowed
from gradsense.machine.graph import Node
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.out_of_place import moving
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceAllowedRule(Rule[InplaceAllowed]):
    code, name = "GS210", "inplace-allowed"
    listens_to = InplaceAllowed
    outcome = "clean"

    def matches(self, event: InplaceAllowed) -> bool:
        maker, tensor = event.maker, event.tensor
        # Totals and losses are no activations, and of several writes in a row the first one tells the story.
        if tensor.number_of_elements == 1 or maker.op.endswith("_"):
            return False
        return maker.sure and all(saved.storage is not tensor.storage for saved in maker.saved)

    def severity(self, event: InplaceAllowed) -> Severity:
        return Severity.HINT

    def message(self, event: InplaceAllowed) -> str:
        name = tensor_name(event.tensor, "its output")
        where = line_of(event.maker.place, event.place)
        return f"allowed: {op_name(event.maker)} on {where} saves {_what(event.maker)}, not {name}"

    def related(self, event: InplaceAllowed) -> Iterable[tuple[Place, str]]:
        yield event.maker.place, "made here"

    def fixes(self, event: InplaceAllowed) -> Iterator[Fix]:
        yield from moving(event.place, event.tensor)[1]


def _what(node: Node) -> str:
    """What an operation keeps for its backward, in words."""
    inputs = {id(saved.tensor) for saved in node.saved if not saved.tensor.parameter}
    kinds = ["its inputs" if len(inputs) > 1 else "its input"] if inputs else []
    if any(saved.tensor.parameter for saved in node.saved):
        kinds.append("its weight")
    if not kinds and node.private:
        kinds.append("a mask or copy of its own")
    return " and ".join(kinds) or "nothing"
