"""The backward of a custom Function cannot do what a walk asks of it.

## What happens

`backward` has to return one gradient for each argument of `forward` after `ctx`, and `None` for those that have none.
Torch counts them when a walk comes through the Function, and raises where there are too few; too many are let be if
they are `None`. A Function without a `backward` can be applied, and raises as late. And a `backward` that is marked
with `once_differentiable` raises where its result is differentiated again: a penalty on a gradient, a Hessian, the
outer step of a meta-learner.

## Fails

```python
import torch


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        return grad


weight = torch.randn(4, requires_grad=True)
Quantise.apply(weight, 16).pow(2).sum().backward()
```

## Mended

```python
import torch


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        return grad, None


weight = torch.randn(4, requires_grad=True)
Quantise.apply(weight, 16).pow(2).sum().backward()
```

## Not this

- `return grad, None, None` for two arguments: what is too much is `None`.
- `once_differentiable` where nobody differentiates a gradient: it saves time, and guards a formula that is not
  differentiable.

## Fixes

- `None` for each argument that needs no gradient: safe.
- Take `once_differentiable` away: unsafe, as the formula must then be differentiable itself: no `.data`, nothing saved
  that is neither an input nor an output.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.layout import delete_lines, insertion
from gradsense.machine.events import BackwardRefused
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe, unsafe
from gradsense.rules.wording import line_of


class CustomBackward(Rule[BackwardRefused]):
    code, name = "GS424", "custom-backward"
    listens_to = BackwardRefused

    def message(self, event: BackwardRefused) -> str:
        refusal = event.refusal
        walk = line_of(event.walk.place, event.culprit)
        if refusal.how == "missing":
            return f"`{refusal.name}` has no `backward`, and the walk on {walk} comes through it"
        if refusal.how == "once":
            return f"this backward can be differentiated once, and the walk on {walk} differentiates its gradient again"
        gives = "1 gradient" if refusal.given == 1 else f"{refusal.given} gradients"
        wants = "1 argument" if refusal.wanted == 1 else f"{refusal.wanted} arguments"
        return f"this returns {gives}, and `{refusal.name}` was applied to {wants}: return one for each, or None"

    def related(self, event: BackwardRefused) -> Iterable[tuple[Place, str]]:
        yield event.applied, "applied here"
        yield event.walk.place, "walked here"

    def expected(self, event: BackwardRefused) -> str | None:
        refusal = event.refusal
        if refusal.how == "missing":
            return (
                "NotImplementedError: You must implement either the backward or vjp method for your custom "
                "autograd.Function to use it with backward mode AD."
            )
        if refusal.how == "once":
            return "RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable"
        return (
            f"RuntimeError: function {refusal.name}Backward returned an incorrect number of gradients "
            f"(expected {refusal.wanted}, got {refusal.given})"
        )

    def fixes(self, event: BackwardRefused) -> Iterator[Fix]:
        refusal = event.refusal
        code = code_of(refusal.place)
        if refusal.how == "once":
            line = refusal.place.line
            yield from unsafe("Take `once_differentiable` away", (delete_lines(code.source, line, line),))
        returned = code.statement(refusal.place.node)
        lacking = refusal.wanted - refusal.given
        if refusal.how != "count" or lacking != refusal.spare or not isinstance(returned, ast.Return):
            return
        value = returned.value
        bare = isinstance(value, ast.Tuple) and len(value.elts) > 1 and value.col_offset == value.elts[0].col_offset
        if value is None or not (bare or (refusal.given == 1 and not isinstance(value, ast.Tuple))):
            return
        added = insertion(code.source, code.source.span_of(returned).end, ", None" * lacking)
        yield from safe("Return None for what needs no gradient", (added,))
