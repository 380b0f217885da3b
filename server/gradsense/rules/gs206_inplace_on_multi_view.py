"""A view is written that torch lets nobody write to.

## What happens

Some views cannot be written in place, whether or not their values were saved:

- an output of `unbind`, `chunk` or `split`, also as the rows of `for row in tensor` and `zip(tensor, …)`;
- a view that was made under `no_grad` and is written with grad mode on;
- the output of a module with a full backward hook, by an in-place activation behind it;
- an expanded tensor, where one cell of memory stands for many;
- and `detach_()` works on no view at all.

torch raises at the write, or when the written tensor is used next.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
film = nn.Linear(4, 6)
x, condition = torch.randn(2, 3), torch.randn(2, 4)
scale, shift = film(condition).chunk(2, dim=1)
scale += 1.0  # GS206
(x * scale + shift).sum().backward()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
film = nn.Linear(4, 6)
x, condition = torch.randn(2, 3), torch.randn(2, 4)
scale, shift = film(condition).chunk(2, dim=1)
scale = scale + 1.0
(x * scale + shift).sum().backward()
```

## Not this

A slice or a single index, `x[:, :3] += 1`, is one view and may be written. So may the outputs of `chunk` where
nothing requires grad.

## Fixes

- Write out of place (safe; unsafe where the tensor that the view belongs to is read later: it no longer sees the
  write).
- Write under `torch.no_grad()`, for views of a parameter (safe). Turn `inplace` off, for a module behind a hook
  (safe).
- Copy the parts, or the expanded tensor, where they are made.

All are unsafe for an expanded tensor: not every write to one raises, and then all rows that are one in memory are
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradsense.fixes.fix import Applicability, Fix
from gradsense.machine.events import SharedWritten, ViewWritten
from gradsense.machine.place import Place
from gradsense.machine.tri import YES
from gradsense.rules.base import Rule
from gradsense.rules.repairs.copies import copies_of_parts, copy_of
from gradsense.rules.repairs.inplace_modules import turn_off
from gradsense.rules.repairs.no_grad import under_no_grad
from gradsense.rules.repairs.out_of_place import detach_instead, moving
from gradsense.rules.torch_says import STALE_VIEWS, VIEWS
from gradsense.rules.wording import line_of, op_name, tensor_name


class InplaceOnMultiView(Rule[ViewWritten | SharedWritten]):
    code, name = "GS206", "inplace-on-multi-view"
    listens_to = (ViewWritten, SharedWritten)
    outcome = "raises"

    def message(self, event: ViewWritten | SharedWritten) -> str:
        if isinstance(event, SharedWritten):
            whole = event.tensor.shared or event.tensor
            return (
                f"{tensor_name(whole)} is expanded on {line_of(whole.made, event.culprit)}: what is written to a part "
                "of it is in all parts that share its memory"
            )
        reasons = {
            "multi": "an output of {op} on {line}, and a write to one of several views is refused",
            "no_grad": "a view that was made under `no_grad` on {line}, and this writes it with grad mode on",
            "inference": "a view that was made in inference mode on {line}, and this writes it outside of that mode",
            "custom": "what a custom Function was given, or a view of it, and this writes it",
            "hook": "the output or input of a module with a full backward hook, and this writes it",
            "detach": "a view made on {line}, and `detach_()` works on no view",
            "expanded": "expanded on {line}: several of its elements are one in memory, and this writes them",
        }
        used = {
            "multi": "an output of {op}",
            "no_grad": "a view made under `no_grad`",
            "inference": "a view made in inference mode",
        }
        made = event.tensor.made
        node = event.tensor.node
        op = op_name(node) if node is not None else "`unbind`, `chunk` or `split`"
        if event.used:
            return (
                f"this writes the memory of {tensor_name(event.tensor)}, {used[event.why].format(op=op)} on "
                f"{line_of(made, event.culprit)}, and the use of that view on {line_of(event.place, event.culprit)} "
                "is refused then"
            )
        return f"{tensor_name(event.tensor)} is {reasons[event.why].format(op=op, line=line_of(made, event.culprit))}"

    def related(self, event: ViewWritten | SharedWritten) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "the view is made here"

    def expected(self, event: ViewWritten | SharedWritten) -> str | None:
        if isinstance(event, SharedWritten):
            return None
        return STALE_VIEWS[event.why] if event.used else VIEWS[event.why]

    def fixes(self, event: ViewWritten | SharedWritten) -> Iterator[Fix]:
        shared = isinstance(event, SharedWritten) or event.why == "expanded"
        for fix in _fixes(event):
            # Not every write to an expanded tensor raises: one may have written all rows that are one in memory.
            yield replace(fix, applicability=Applicability.UNSAFE) if shared else fix


def _fixes(event: ViewWritten | SharedWritten) -> Iterator[Fix]:
    tensor = event.tensor
    if isinstance(event, SharedWritten):
        yield from copy_of((tensor.shared or tensor).made)
        return
    if event.used:
        yield from copies_of_parts(tensor.made) if event.why == "multi" else copy_of(tensor.made)
        return
    if event.why == "hook" and event.spot is not None:
        yield from turn_off(event.spot, event.place)
    if event.why == "expanded":
        yield from copy_of(tensor.made)
    if event.why == "detach":
        yield from detach_instead(event.place)
    base = tensor.base
    if base is not None and base.leaf and base.needs is YES:
        yield from under_no_grad(event.place, tensor_name(tensor, "it"))
    yield from moving(event.place, tensor)[1]
    if event.why == "multi":
        yield from copies_of_parts(tensor.made)
