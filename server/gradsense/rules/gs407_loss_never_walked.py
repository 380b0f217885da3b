"""A loss, or a term of one, that moves nothing.

## What happens

A loss is computed, shows in the log and looks as if it were trained on, but no gradient comes of it: it is never part
of what `backward()` walks, or a cut (`.detach()`, `argmax`, a comparison) stands between it and the parameters.
Beside terms that do have a graph, nothing raises.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
student, head = nn.Linear(8, 4), nn.Linear(4, 3)
optimizer = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.1)
teacher = torch.randn(32, 4)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    features = student(x)
    imitation = (features.detach() - teacher).pow(2).mean()
    loss = nn.functional.cross_entropy(head(features), y) + 0.1 * imitation
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
student, head = nn.Linear(8, 4), nn.Linear(4, 3)
optimizer = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.1)
teacher = torch.randn(32, 4)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    features = student(x)
    imitation = (features - teacher).pow(2).mean()
    loss = nn.functional.cross_entropy(head(features), y) + 0.1 * imitation
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Not this

- A value that is computed to be shown: an accuracy, a validation loss, anything under `no_grad`.
- A stop-gradient within a term that has another path, as in VQ-VAE's codebook and commitment losses.

## Fixes

- Drop the cut: unsafe, since gradients change, and a term may be held constant on purpose.
- Add the loss to the one that is walked, or walk it before the step where no walk stands at all: unsafe, as the program
  trains on it for the first time, and may want a weight for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import DeadTerm, LossNeverWalked
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.repairs.cuts import uncut
from gradsense.rules.repairs.missing_walk import walked_too
from gradsense.rules.wording import line_of, tensor_name


class LossNeverWalkedRule(Rule[DeadTerm | LossNeverWalked]):
    code, name = "GS407", "loss-never-walked"
    listens_to = (DeadTerm, LossNeverWalked)
    outcome = "silent"

    def message(self, event: DeadTerm | LossNeverWalked) -> str:
        if isinstance(event, LossNeverWalked):
            name = tensor_name(event.loss, "this loss")
            if event.overwritten is not None and event.overwritten.key == event.culprit.key:
                return f"{name} is overwritten in the next pass of the loop: only the last one is walked"
            if event.overwritten is not None:
                return (
                    f"{name} is overwritten on {line_of(event.overwritten, event.culprit)} before any walk takes it in"
                )
            return f"{name} is never part of what is walked: it moves nothing"
        if event.cut is not None:
            where = line_of(event.walk.place, event.culprit)
            return f"a term of the loss that {where} walks loses its graph here (`{event.cut.how}`): it moves nothing"
        return f"{tensor_name(event.term, 'this term')} moves nothing: no optimizer steps what it reaches"

    def related(self, event: DeadTerm | LossNeverWalked) -> Iterable[tuple[Place, str]]:
        if isinstance(event, DeadTerm):
            yield event.term.made, "the term"
            yield event.walk.place, "walked here"

    def fixes(self, event: DeadTerm | LossNeverWalked) -> Iterator[Fix]:
        if isinstance(event, LossNeverWalked):
            yield from walked_too(event.loss)
        elif event.cut is not None:
            yield from uncut(event.cut, event.walk.place.node, trusted=False)
