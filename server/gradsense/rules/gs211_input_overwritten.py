"""A module with `inplace=True` overwrites its input, which is read again under its old name.

## What happens

`nn.ReLU(inplace=True)` as the first layer of a block writes the tensor that the block was given. A caller that still
holds that tensor, such as a residual connection, gets the rectified values and not the ones it had. torch raises
nothing where no node saved the old value: the sum is simply another sum.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
block = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))  # GS211
x = nn.Linear(4, 4)(torch.randn(3, 4))
y = block(x) + x
y.sum().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
block = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
x = nn.Linear(4, 4)(torch.randn(3, 4))
y = block(x) + x
y.sum().backward()
```

## Not this

`x = self.relu(x)` binds the name anew: what is read afterwards is the result, and that is what it says.

## Fixes

- Turn `inplace` off, which restores the values that the name suggests. It is unsafe in one sense: a network that was
  trained with the overwritten values computes something else afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradsense.fixes.fix import Applicability, Fix
from gradsense.machine.events import InputOverwritten
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.wording import line_of, quoted


class InputOverwrittenRule(Rule[InputOverwritten]):
    code, name = "GS211", "input-overwritten"
    listens_to = InputOverwritten
    outcome = "silent"

    def message(self, event: InputOverwritten) -> str:
        name = quoted(event.place.text)
        where = line_of(event.place, event.culprit)
        return f"this module overwrites its input: {name} has other values when it is read on {where}"

    def related(self, event: InputOverwritten) -> Iterable[tuple[Place, str]]:
        yield event.write.place, "written here"
        yield event.place, "read here"

    def fixes(self, event: InputOverwritten) -> Iterator[Fix]:
        for fix in turn_off(event.culprit, event.write.place):
            yield replace(fix, applicability=Applicability.UNSAFE)
