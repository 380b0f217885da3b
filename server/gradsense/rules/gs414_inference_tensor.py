"""A tensor made in inference mode is used where autograd needs it.

## What happens

Under `torch.inference_mode()` tensors have no version counter, and autograd may never keep one: an op that would have
to save it for backward raises, and so do `requires_grad_()` and a write in place outside of that mode. Features that a
frozen network made for a trained head are the usual case: the head's weight gradient needs its input. `torch.no_grad()`
makes ordinary tensors. A `clone()` outside of the mode is an ordinary tensor too.

## Fails

```python
import torch
from torch import nn

backbone, head = nn.Linear(6, 4), nn.Linear(4, 2)
with torch.inference_mode():
    features = backbone(torch.randn(10, 6))
loss = head(features).pow(2).mean()
loss.backward()
```

## Mended

```python
import torch
from torch import nn

backbone, head = nn.Linear(6, 4), nn.Linear(4, 2)
with torch.no_grad():
    features = backbone(torch.randn(10, 6))
loss = head(features).pow(2).mean()
loss.backward()
```

## Not this

- Inference tensors that are only read, added to what is tracked, or cloned first: none of these saves them.

## Fixes

- `torch.no_grad()` instead of `torch.inference_mode()`: safe.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import spelling
from gradsense.machine.events import InferenceTensorUsed
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe
from gradsense.rules.wording import line_of, tensor_name

_REFUSED = {
    "saved": "cannot be saved for backward",
    "written": "cannot be written in place",
    "tracked": "cannot require grad",
}
_EXPECTED = {
    "saved": "RuntimeError: Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference"
    " mode in computation tracked by autograd.",
    "written": "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed.",
    "tracked": "RuntimeError: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
}


class InferenceTensor(Rule[InferenceTensorUsed]):
    code, name = "GS414", "inference-tensor"
    listens_to = InferenceTensorUsed

    def message(self, event: InferenceTensorUsed) -> str:
        name = tensor_name(event.tensor, "a tensor")
        where = line_of(event.place, event.culprit)
        return f"{name} is made in inference mode and {_REFUSED[event.how]} on {where}: use `no_grad`, or clone it"

    def related(self, event: InferenceTensorUsed) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: InferenceTensorUsed) -> str | None:
        return _EXPECTED[event.how]

    def fixes(self, event: InferenceTensorUsed) -> Iterator[Fix]:
        code = code_of(event.spot)
        expression = code.expression(event.spot.node)
        if isinstance(expression, ast.Call):
            if expression.args or expression.keywords:
                return
            expression = expression.func
        spelt = spelling(code.tree, expression, "torch.no_grad") if expression is not None else None
        if expression is not None and spelt is not None:
            edits = replace_expression(code.source, code.tree, expression, spelt)
            yield from safe("Use `no_grad` instead of `inference_mode`", edits)
