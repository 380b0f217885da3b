"""A parameter that an optimizer steps is cut off from the loss.

## What happens

`.item()`, `float()`, `torch.tensor(…)`, a comparison or `argmax` give a value without a graph. Where that value goes
into a loss beside others that have one, `backward()` works and the optimizer steps. But a parameter that is reached
through the cut alone keeps `.grad` None: it stays as it was initialised, and nothing says so. `round()`, `sign()` and
their kin keep the graph, but their gradient is zero everywhere: the parameter stays as it was just the same. A
checkpoint with `use_reentrant=True` passes gradients on to what is inside only if one of its inputs needs grad. A
distribution's `sample()` passes none on, its `rsample()` does: a VAE that draws its latent with the first trains the
encoder by the divergence alone.

A `detach()` or `no_grad` is meant as a rule, and told as information. It is a warning where the program shows that a
gradient was wanted: nothing else that the optimizer holds learns, the call that makes the optimizer names the module,
the value that was cut is told to require grad and nobody reads that gradient, a hook that looks at an output gives back
the detached one, or a module's constructor computes once what `forward` should.

## Fails

```python
import torch
from torch import nn

model, gate = nn.Linear(8, 3), nn.Linear(8, 8)
optimizer = torch.optim.SGD([*model.parameters(), *gate.parameters()], lr=0.1)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    open_gate = (torch.sigmoid(gate(x)) > 0.5).float()
    logits = model(x * open_gate)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(gate.weight.grad)
```

## Mended

```python
import torch
from torch import nn

model, gate = nn.Linear(8, 3), nn.Linear(8, 8)
optimizer = torch.optim.SGD([*model.parameters(), *gate.parameters()], lr=0.1)
for step in range(3):
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    open_gate = torch.sigmoid(gate(x))
    logits = model(x * open_gate)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(gate.weight.grad)
```

## Not this

- A detached copy beside a path that keeps its graph, a network that no optimizer holds, a target under `no_grad`.
- A sample whose `log_prob` is a part of the loss, as in a policy gradient.
- A straight-through estimator, `x + (x.round() - x).detach()`: the gradient goes past the rounding.
- A frozen part whose parameters are among others of the optimizer. With a group of its own it is meant to be trained.

## Fixes

- Take the cut away: unsafe, since the parameter begins to learn. Where it was meant to be frozen, take it out of the
  optimizer instead.
- Round in the forward only, `x + (torch.round(x) - x).detach()`, and so with other operations whose gradient is zero:
  unsafe for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.books import ZERO_GRADIENT
from gradsense.machine.events import NeverReached, NothingToStep, SampleCut
from gradsense.machine.graph import MEANT
from gradsense.machine.place import Place
from gradsense.machine.walking import REENTRANT
from gradsense.rules.base import Rule
from gradsense.rules.editing import unsafe
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.checkpoints import other_checkpoint
from gradsense.rules.repairs.cuts import uncut
from gradsense.rules.wording import line_of, tensor_name


class GradientCut(Rule[NeverReached | NothingToStep | SampleCut]):
    code, name = "GS411", "gradient-cut"
    listens_to = (NeverReached, NothingToStep, SampleCut)
    outcome = "silent"

    def severity(self, event: NeverReached | NothingToStep | SampleCut) -> Severity:
        if not isinstance(event, NeverReached):
            return Severity.WARNING
        # `detach()` is written on purpose more often than by mistake, but an optimizer that moves nothing is not.
        meant = event.cut.how in MEANT and not (event.idle or event.straight or event.wanted)
        return Severity.INFORMATION if meant else Severity.WARNING

    def message(self, event: NeverReached | NothingToStep | SampleCut) -> str:
        if isinstance(event, NothingToStep):
            where = line_of(event.place, event.culprit)
            if event.frozen is not None:
                name = tensor_name(event.frozen, "what this optimizer holds")
                return f"{name} does not require grad, so the step on {where} changes nothing"
            return f"no walk gives any parameter of this optimizer a gradient: the step on {where} changes nothing"
        if isinstance(event, SampleCut):
            where = line_of(event.walk.place, event.culprit)
            return (
                f"`{event.cut.how}` passes no gradient on: what it was drawn from learns from the rest of {where} only"
            )
        parameter = tensor_name(event.parameter, "a parameter that the optimizer steps")
        if event.cut.how in ZERO_GRADIENT:
            return f"the gradient of `{event.cut.how}` is zero everywhere: {parameter} never moves"
        if event.cut.how == REENTRANT:
            return f"a reentrant checkpoint none of whose inputs needs grad gives none to {parameter}"
        if event.straight:
            return f"the straight-through estimator passes {parameter} by, and no other term of the loss reaches it"
        return f"the graph to {parameter} ends here (`{event.cut.how}`): it never gets a gradient"

    def related(self, event: NeverReached | NothingToStep | SampleCut) -> Iterable[tuple[Place, str]]:
        if isinstance(event, NothingToStep):
            if event.frozen is not None:
                yield event.frozen.made, "made here, without grad"
            yield event.place, "stepped here"
            yield event.walk.place, "walked here"
            return
        if isinstance(event, SampleCut):
            yield event.walk.place, "walked here"
            return
        yield event.parameter.made, "the parameter is made here"
        yield event.walk.place, "walked here"

    def fixes(self, event: NeverReached | NothingToStep | SampleCut) -> Iterator[Fix]:
        if isinstance(event, SampleCut):
            yield from uncut(event.cut, event.walk.place.node, trusted=False)
            return
        if isinstance(event, NothingToStep) or event.straight or self.severity(event) is Severity.INFORMATION:
            return
        if event.cut.how == REENTRANT:
            yield from other_checkpoint(event.cut.place, unsafe)
        else:
            yield from uncut(event.cut, event.walk.place.node, trusted=False)
