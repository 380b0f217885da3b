"""One player's loss walks into the other player's graph.

## What happens

A discriminator judges what a generator made, a policy is weighted by what a critic said, a student looks at its
teacher. If the other's tensor comes in with its graph, this player's `backward()` walks through the other network as
well. It costs a second backward, fills the other's `.grad`, and frees the graph that the other player's own loss
needs in a moment.

## Fails

```python
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3)), nn.Linear(3, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for real in torch.randn(3, 6, 3):
    fake = G(torch.randn(6, 2))
    d_loss = D(fake).mean() - D(real).mean()  # GS104
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = -D(fake).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
```

## Mended

```python
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3)), nn.Linear(3, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for real in torch.randn(3, 6, 3):
    fake = G(torch.randn(6, 2))
    d_loss = D(fake.detach()).mean() - D(real).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = -D(fake).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
```

## Not this

The generator's own loss has to go through the discriminator: nothing is detached there. A fake that is made anew for
each loss, a network frozen with `requires_grad_(False)` and a fake made under `no_grad` are fine. If nothing raises
because each player has its own forward, the extra backward is reported as information only.

## Fixes

- Detach the argument of the call that belongs to the other player's loss (safe): no optimizer that steps on this walk
  holds what is cut off.
- Detach the value where it is made (unsafe): then neither loss trains what made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradsense.fixes.fix import Fix
from gradsense.machine.events import WalkedTwice, WastedWalk
from gradsense.machine.place import Place
from gradsense.rules.base import SECOND_TIME, Rule
from gradsense.rules.finding import Severity
from gradsense.rules.repairs.into_loop import treat_as_constant
from gradsense.rules.repairs.players import detach_argument
from gradsense.rules.wording import line_of, op_name, tensor_name


class UndetachedGenerator(Rule[WalkedTwice | WastedWalk]):
    code, name = "GS104", "undetached-generator"
    listens_to = (WalkedTwice, WastedWalk)
    outcome = "raises"

    def matches(self, event: WalkedTwice | WastedWalk) -> bool:
        return not isinstance(event, WalkedTwice) or event.manner == "player"

    def severity(self, event: WalkedTwice | WastedWalk) -> Severity:
        return super().severity(event) if isinstance(event, WalkedTwice) else Severity.INFORMATION

    def message(self, event: WalkedTwice | WastedWalk) -> str:
        if isinstance(event, WalkedTwice):
            held = tensor_name(event.held, "this argument")
            first = line_of(event.first.place, event.culprit)
            if event.again:
                return f"{held} still has the graph that the walk on {first} freed: pass `.detach()`"
            return f"{held} still has its graph here, so the walk on {first} frees it: pass `.detach()`"
        walk = line_of(event.walk.place, event.culprit)
        how = "detach it, and let the detached one require grad" if event.asked else "detach it"
        return f"the walk on {walk} also fills gradients of the network behind this, which are zeroed unused: {how}"

    def related(self, event: WalkedTwice | WastedWalk) -> Iterable[tuple[Place, str]]:
        if isinstance(event, WalkedTwice):
            yield event.node.place, f"{op_name(event.node)} saved for backward here"
            yield event.first.place, "freed by this walk"
        yield event.walk.place, "walked here"

    def expected(self, event: WalkedTwice | WastedWalk) -> str | None:
        return SECOND_TIME if isinstance(event, WalkedTwice) else None

    def fixes(self, event: WalkedTwice | WastedWalk) -> Iterator[Fix]:
        if event.use is None or (isinstance(event, WastedWalk) and event.asked):
            return
        held = event.held if isinstance(event, WalkedTwice) else None
        walk = event.first if isinstance(event, WalkedTwice) and not event.again else event.walk
        yield from detach_argument(event.use, walk, held)
        if isinstance(event, WalkedTwice):
            yield from treat_as_constant(event.held, event.stores, event.walk)
