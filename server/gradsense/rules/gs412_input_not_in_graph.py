"""An input of a walk does not need grad, or is no part of the graph.

## What happens

`torch.autograd.grad(outputs, inputs)` gives a gradient for every input. An input that does not require grad raises at
once. One that requires grad and was not used to compute the outputs raises too, unless `allow_unused=True` says that
None will do. `backward(inputs=…)` refuses an input that does not require grad as well.

## Fails

```python
import torch

w = torch.randn(3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
loss = (w * 2).sum()
gw, gb = torch.autograd.grad(loss, [w, b])
```

## Mended

```python
import torch

w = torch.randn(3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
loss = (w * 2).sum()
gw, gb = torch.autograd.grad(loss, [w, b], allow_unused=True)
```

## Not this

- `backward()` leaves `.grad` of an unused leaf None and raises nothing.

## Fixes

- `requires_grad_()` where the input is made: safe.
- `allow_unused=True` where None is a good answer: unsafe, as most often the input was meant to be used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import set_keyword
from gradsense.machine.events import InputNotInGraph
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.repairs.leaves import requiring_grad, where_made
from gradsense.rules.wording import tensor_name


class InputNotInGraphRule(Rule[InputNotInGraph]):
    code, name = "GS412", "input-not-in-graph"
    listens_to = InputNotInGraph

    def spot(self, event: InputNotInGraph) -> Place:
        made = where_made(event.tensor) if event.why != "unused" else None
        return event.culprit if made is None else made

    def message(self, event: InputNotInGraph) -> str:
        name = tensor_name(event.tensor, "one of the inputs")
        if event.why == "unused":
            return f"{name} was not used to compute what is differentiated: pass `allow_unused=True` or use it"
        return f"{name} does not require grad, so there is no gradient to ask for"

    def related(self, event: InputNotInGraph) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: InputNotInGraph) -> str | None:
        if event.why == "unused":
            return (
                "RuntimeError: The differentiated Tensor at index […] appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        if event.why == "backward":
            return "RuntimeError: can't retain_grad on Tensor that has requires_grad=False"
        return "RuntimeError: One of the differentiated Tensors does not require grad"

    def fixes(self, event: InputNotInGraph) -> Iterator[Fix]:
        if event.why != "unused":
            yield from requiring_grad(event.tensor)
            return
        code = code_of(event.place)
        call = code.expression(event.place.node)
        if isinstance(call, ast.Call) and not isinstance(code.ancestors(call)[-1], ast.Subscript):
            edits = set_keyword(code.source, code.tree, call, "allow_unused", "True")
            yield from unsafe("Accept None: `allow_unused=True`", edits)
