"""A layer gets gradients, and the optimizer of its module does not know of it.

## What happens

`parameters()` lists what `nn.Module` registered: attributes that are modules or parameters, and what `ModuleList`,
`ModuleDict` and their kin hold. Layers in a plain list or dictionary are not among them, nor is a tensor that requires
grad and is no `nn.Parameter`. Nor are layers that took another's place after the optimizer was made, nor a model that
was made anew under the same name: the optimizer still holds the old ones. Nor are layers that were frozen then and
thawed later, a parameter that a `forward` makes when it is called first, one that belongs to no module, or
`nn.Parameter(x) * scale`, which is a tensor like any other. The same goes for a group of parameters that was put
together and never given to the optimizer. The backward fills their `.grad`, nothing raises, and they stay as they were
initialised.

## Fails

```python
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 8), nn.Linear(8, 8)]
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


net = Net()
before = net.layers[0].weight.clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(torch.equal(before, net.layers[0].weight))
```

## Mended

```python
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


net = Net()
before = net.layers[0].weight.clone()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(torch.equal(before, net.layers[0].weight))
```

## Not this

- A frozen network that is kept in a list on purpose, so that nothing saves or moves it: it gets no gradients.
- An optimizer over a head only, which was told so: its `parameters()` were asked for by name.

## Fixes

- `nn.ModuleList` around the list, `nn.Parameter` around the tensor: unsafe, as they change what is trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import spelling
from gradsense.machine.events import NotOptimized
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.editing import code_of, unsafe
from gradsense.rules.wording import line_of


class NotOptimizedRule(Rule[NotOptimized]):
    code, name = "GS419", "not-optimized"
    listens_to = NotOptimized
    outcome = "silent"

    def message(self, event: NotOptimized) -> str:
        where = line_of(event.optimizer, event.culprit)
        if event.how == "replaced":
            return f"the optimizer from {where} holds the parameters of the layer that was here: it never steps these"
        if event.how == "rebound":
            return (
                f"the optimizer from {where} holds the parameters of the model that was here: it never steps this one"
            )
        if event.how == "tensor":
            return (
                f"a tensor is not among `parameters()` without `nn.Parameter`: the optimizer on {where} never steps it"
            )
        if event.how == "thawed":
            return f"no optimizer has what is thawed here: it gets gradients, and the one on {where} never steps it"
        if event.how == "late":
            return (
                f"this parameter is new to its module: it gets gradients, and the optimizer on {where} never steps it"
            )
        if event.how == "group":
            return "no optimizer is given this group: its parameters get gradients, and nothing ever steps them"
        if event.how == "used up":
            return f"this is no parameter, but was computed from one: the optimizer on {where} never steps it"
        if event.how == "loose":
            return f"no optimizer has this parameter: it gets gradients, and the one on {where} never steps it"
        return f"layers in a plain container are not among `parameters()`: the optimizer on {where} never steps them"

    def related(self, event: NotOptimized) -> Iterable[tuple[Place, str]]:
        yield event.optimizer, "the optimizer is made here"
        yield event.walk.place, "they get their gradients here"

    def fixes(self, event: NotOptimized) -> Iterator[Fix]:
        code = code_of(event.place)
        statement = code.statement(event.place.node)
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if event.how == "tensor" and value is not None:
            wrapper = spelling(code.tree, value, "torch.nn.Parameter")
            if wrapper is not None:
                edits = replace_expression(code.source, code.tree, value, f"{wrapper}({code.text(value)})")
                yield from unsafe("Make it a parameter: `nn.Parameter`", edits)
        if event.how == "list" and isinstance(value, ast.List | ast.ListComp | ast.Tuple):
            wrapper = spelling(code.tree, value, "torch.nn.ModuleList")
            if wrapper is not None:
                edits = replace_expression(code.source, code.tree, value, f"{wrapper}({code.text(value)})")
                yield from unsafe("Register the layers: `nn.ModuleList`", edits)
