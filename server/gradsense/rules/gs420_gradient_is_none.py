"""The program computes with a `.grad` that is None.

## What happens

`.grad` of a parameter is None until the first `backward()` that reaches it, and `zero_grad()` sets it to None again
since torch 2.0. Who zeroes, clips, logs or applies gradients by hand before that computes with None: Python raises.

## Fails

```python
import torch

x = torch.linspace(0, 1, 20)
y = 3 * x + 1
w = torch.randn((), requires_grad=True)
for step in range(5):
    w.grad.zero_()
    loss = ((w * x - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
```

## Mended

```python
import torch

x = torch.linspace(0, 1, 20)
y = 3 * x + 1
w = torch.randn((), requires_grad=True)
for step in range(5):
    if w.grad is not None:
        w.grad.zero_()
    loss = ((w * x - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
```

## Not this

- `clip_grad_norm_`, optimizers and `zero_grad()`: they pass over parameters without a gradient.
- `.grad` of what is no leaf, which is None for another reason: GS404.

## Fixes

- Look first: `if w.grad is not None:`. Safe where a gradient is zeroed, and unsafe elsewhere, as what is left out may
  rather belong behind the walk.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.wrap import put_under
from gradsense.machine.events import GradientNone
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe, unsafe
from gradsense.rules.finding import Severity
from gradsense.rules.wording import line_of, tensor_name


class GradientIsNone(Rule[GradientNone]):
    code, name = "GS420", "gradient-is-none"
    listens_to = GradientNone

    def severity(self, event: GradientNone) -> Severity:
        found = super().severity(event)
        # On another path a walk may have filled it.
        return Severity.INFORMATION if found is Severity.WARNING else found

    def message(self, event: GradientNone) -> str:
        name = tensor_name(event.tensor, "a parameter")
        if event.zeroed is not None:
            return f"the gradient of {name} was set to None on {line_of(event.zeroed, event.culprit)}"
        return f"no walk has reached {name} before this: its `.grad` is None"

    def related(self, event: GradientNone) -> Iterable[tuple[Place, str]]:
        yield event.read, "`.grad` is read here"
        if event.zeroed is not None:
            yield event.zeroed, "set to None here"

    def fixes(self, event: GradientNone) -> Iterator[Fix]:
        code = code_of(event.place)
        statement = code.statement(event.place.node)
        gradient = _gradient_in(statement) if isinstance(statement, ast.Expr | ast.AugAssign) else None
        if statement is None or gradient is None:
            return
        offer = safe if _zeroes(statement) else unsafe
        test = f"{code.text(gradient)} is not None"
        yield from offer(f"Look first: `if {test}:`", put_under(code.source, code.tree, [statement], f"if {test}:"))


def _gradient_in(statement: ast.AST) -> ast.Attribute | None:
    found = (n for n in ast.walk(statement) if isinstance(n, ast.Attribute) and n.attr == "grad")
    return next((n for n in found if isinstance(n.value, ast.Name | ast.Attribute)), None)


def _zeroes(statement: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in ("zero_", "detach_") for n in ast.walk(statement))
