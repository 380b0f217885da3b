"""An argument needs grad for which the loss has no derivative.

## What happens

Cross-entropy and its kin are differentiable by their input, not by the weights of the classes. Given a `weight` or
`pos_weight` that requires grad, such as an `nn.Parameter`, torch raises as soon as the loss is computed.

## Fails

```python
import torch
from torch import nn

model = nn.Linear(8, 3)
weight = nn.Parameter(torch.ones(3))
x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
loss = nn.functional.cross_entropy(model(x), y, weight=weight)
loss.backward()
```

## Mended

```python
import torch
from torch import nn

model = nn.Linear(8, 3)
weight = nn.Parameter(torch.ones(3))
x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
loss = nn.functional.cross_entropy(model(x), y, weight=weight.detach())
loss.backward()
```

## Not this

- Cross-entropy with probabilities as its target, which multiplies them by the weights.
- The same under `no_grad`.

## Fixes

- Hand it over detached: unsafe, as the weights do not learn then. Weights that should learn are multiplied with the
  losses of `reduction="none"`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.machine.events import NoDerivative
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.wording import tensor_name


class NoDerivativeRule(Rule[NoDerivative]):
    code, name = "GS423", "no-derivative"
    listens_to = NoDerivative

    def message(self, event: NoDerivative) -> str:
        op = event.op.rpartition(".")[2]
        name = tensor_name(event.tensor, f"`{event.argument}`")
        return f"`{op}` has no derivative for its `{event.argument}`, and {name} requires grad"

    def related(self, event: NoDerivative) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: NoDerivative) -> str | None:
        return (
            f"RuntimeError: The function '[…]' is not differentiable with respect to argument '{event.argument}'. "
            "This input cannot have requires_grad True."
        )

    def fixes(self, event: NoDerivative) -> Iterator[Fix]:
        code = code_of(event.place)
        call = code.expression(event.place.node)
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg == event.argument and isinstance(keyword.value, ast.Name | ast.Attribute):
                new = f"{code.text(keyword.value)}.detach()"
                edits = replace_expression(code.source, code.tree, keyword.value, new)
                yield from unsafe(f"Keep it constant: `{new}`", edits)
