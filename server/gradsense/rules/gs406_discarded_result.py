"""The result of an out-of-place method is thrown away.

## What happens

`x.detach()`, `x.clamp(0)`, `x.to(device)` return a new tensor and leave `x` as it is. As a statement of their own they
do nothing at all. So it is with a method that is named and not called, such as `optimizer.zero_grad` or
`loss.backward` without its brackets, with an attribute that torch does not know (`p.require_grad = False`,
`model.requires_grad = False`), with an update of a loop's own variable (`for p in params: p = p - lr * p.grad`), and
with a method `backward` of a module: torch calls that of a `torch.autograd.Function` only.

## Fails

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
logits = 100 * model(torch.randn(32, 8))
logits.clamp(-5, 5)
loss = nn.functional.cross_entropy(logits, torch.randint(0, 3, (32,)))
loss.backward()
```

## Mended

```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
logits = 100 * model(torch.randn(32, 8))
logits = logits.clamp(-5, 5)
loss = nn.functional.cross_entropy(logits, torch.randint(0, 3, (32,)))
loss.backward()
```

## Not this

- Methods that work in place: their names end in `_` (`x.clamp_(0)`), and those of modules, whose `to()` moves the
  module itself.
- Other libraries whose `detach()` works in place.

## Fixes

- Give the result back to the variable. Unsafe, as every fix of a silent fault: what comes after sees other values.
- Call the method that was only named: unsafe for the same reason.
- Remove the statement, which does nothing. The program computes what it did, but what was meant is lost with it, so it
  is called unsafe. Offered first for a cast to a type that nothing else in the file has, where the result would not fit
  the parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.remove import assign_result, remove_statement
from gradsense.machine.events import DiscardedResult, UselessMutation
from gradsense.rules.base import Rule
from gradsense.rules.editing import Code, code_of, unsafe
from gradsense.rules.wording import quoted
from gradsense.syntax.edits import TextEdit


class DiscardedResultRule(Rule[DiscardedResult | UselessMutation]):
    code, name = "GS406", "discarded-result"
    listens_to = (DiscardedResult, UselessMutation)
    outcome = "silent"

    def message(self, event: DiscardedResult | UselessMutation) -> str:
        if isinstance(event, UselessMutation):
            return f"this does nothing: {event.what}"
        return f"{quoted(event.place.text)} returns a new tensor and changes nothing: its result is thrown away"

    def fixes(self, event: DiscardedResult | UselessMutation) -> Iterator[Fix]:
        code = code_of(event.place)
        expression = code.expression(event.place.node)
        statement = code.statement(event.place.node)
        if isinstance(event, UselessMutation):
            called = event.instead.endswith(")")
            if called and isinstance(statement, ast.Assign):
                change = (TextEdit(code.source.path, code.source.span_of(statement), event.instead),)
                yield from unsafe(f"Call {quoted(event.instead)}", change)
            elif event.instead and isinstance(expression, ast.Attribute):
                edits = replace_expression(code.source, code.tree, expression, event.instead)
                yield from unsafe(f"{'Call it:' if called else 'Set'} {quoted(event.instead)}", edits)
        elif isinstance(statement, ast.Expr):
            edits = assign_result(code.source, code.tree, statement)
            kept = list(unsafe(f"Keep the result of `{event.method}()`", edits))
            edits = remove_statement(code.source, code.tree, statement)
            removed = list(unsafe("Remove it: it does nothing", edits))
            yield from (*removed, *kept) if _fits_nothing(code, event) else (*kept, *removed)


def _fits_nothing(code: Code, event: DiscardedResult) -> bool:
    """Whether it is a cast to a type of number that parameters do not have by default, and that is named only here."""
    dtype = event.tensor.dtype if event.tensor is not None else None
    names = _RARE.get(dtype or "", ())
    return bool(names) and sum(len(re.findall(rf"\b{name}\b", code.source.text)) for name in names) <= 1


# The types that a model has only if the program says so, by their names as a method and as a dtype.
_RARE = {
    "float64": ("float64", "double"),
    "double": ("float64", "double"),
    "float16": ("float16", "half"),
    "half": ("float16", "half"),
    "bfloat16": ("bfloat16",),
}
