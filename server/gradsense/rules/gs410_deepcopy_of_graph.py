"""`copy.deepcopy` of a tensor that is not a leaf.

## What happens

A deep copy of a computed tensor would have to copy its graph, and torch does not. Parameters and other leaves can be
copied, so a model can, until a computed tensor is kept in one of its attributes.

## Fails

```python
import copy

import torch
from torch import nn

model = nn.Linear(8, 3)
features = model(torch.randn(32, 8))
snapshot = copy.deepcopy(features)
print(snapshot.shape)
```

## Mended

```python
import copy

import torch
from torch import nn

model = nn.Linear(8, 3)
features = model(torch.randn(32, 8))
snapshot = features.detach().clone()
print(snapshot.shape)
```

## Not this

- A copy of a model or of its `state_dict()`: they hold leaves only. With the old `weight_norm` or `spectral_norm` a
  model does not, since a hook computes the weight; with those of `torch.nn.utils.parametrizations` it does.
- `features.clone()` copies the values and keeps the graph.

## Fixes

- Copy the values alone, `.detach().clone()`: safe. Where the copy is to pass gradients on, use `.clone()` by hand.
- Detach what an attribute of the copied object keeps: unsafe, as a loss may be made of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.machine.events import DeepcopyOfGraph
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, safe, unsafe
from gradsense.rules.repairs.detaching import at_store
from gradsense.rules.repairs.leaves import method_text
from gradsense.rules.wording import line_of, tensor_name


class DeepcopyOfGraphRule(Rule[DeepcopyOfGraph]):
    code, name = "GS410", "deepcopy-of-graph"
    listens_to = DeepcopyOfGraph
    outcome = "raises"

    def message(self, event: DeepcopyOfGraph) -> str:
        if event.spot.key != event.place.key:
            name = f"`{event.store.name}`" if event.store is not None else "the weight that a hook computes"
            copied = line_of(event.place, event.culprit)
            return f"{name} is no leaf, and what has it is deep-copied on {copied}, which only leaves can be"
        return f"{tensor_name(event.tensor)} is no leaf, and only leaves can be deep-copied"

    def related(self, event: DeepcopyOfGraph) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"
        if event.spot.key != event.place.key:
            yield event.place, "copied here"

    def expected(self, event: DeepcopyOfGraph) -> str | None:
        return (
            "RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment."
        )

    def fixes(self, event: DeepcopyOfGraph) -> Iterator[Fix]:
        if event.store is not None:
            for fix in at_store(event.tensor, event.store):
                yield from unsafe(fix.title, fix.edits)
            return
        code = code_of(event.place)
        call = code.expression(event.place.node)
        if not isinstance(call, ast.Call) or callee_name(call) != "deepcopy" or len(call.args) != 1:
            return
        # A module that holds the tensor is copied by its parts, and has no such method.
        if code.text(call.args[0]) in event.tensor.names() or code.twin(event.tensor.made.node) is call.args[0]:
            new = f"{method_text(code, call.args[0])}.detach().clone()"
            edits = replace_expression(code.source, code.tree, call, new)
            yield from safe(f"Copy the values alone: `{new}`", edits)
