"""One training step, in its many forms."""

from __future__ import annotations

from .basic import SIMPLE, body
from .builder import Builder, Optimizer
from .fragments import GENERAL
from .optimizers import read_gradients, record, step, zero
from .patterns import accumulate, hooked_features, losses_in_a_loop, replay, rollout, several_losses
from .recurrence import Recurrence
from .walks import fill_grad, forward_loss, saved_attribute, walk

PLACES = {
    "history": "history = []",
    "running": "running = 0.0",
    "log": "log = {}",
    "recent": "recent = deque(maxlen=2)",
}
BUFFERS = {"buffer": "buffer = []", "memory": "memory = deque(maxlen=2)"}


def places(b: Builder) -> list[str]:
    """Containers and totals that outlive a pass."""
    kept = [p for p in PLACES if b.chance(0.3)]
    for place in kept:
        b.emit(PLACES[place])
        if place == "recent":
            b.imports.add("from collections import deque")
    for buffer in (name for name in BUFFERS if b.chance(0.15)):
        b.emit(BUFFERS[buffer])
        kept.append(buffer)
        b.imports.add("from collections import deque")
    b.scope.taken |= {*PLACES, *BUFFERS}
    return kept


def train_step(b: Builder, kept: list[str], recurrence: Recurrence | None = None) -> None:
    """One step: clear, forward, backward, step, and what is kept of it."""
    optimizers = list(b.scope.optimizers)
    early = b.chance(0.7)
    if early:
        for optimizer in optimizers:
            zero(b, optimizer)
    if recurrence is not None:
        recurrence.advance()
    if "seen" in kept:
        hooked_features(b)
    if "memory" in kept:
        replay(b)
    body(b, b.choice([1, 2, 2, 3, 4]), GENERAL)
    if b.chance(0.15):
        fill_grad(b)
    if "buffer" in kept:
        rollout(b)
    if b.risky(0.15) and optimizers:
        step(b, b.choice(optimizers))
    loss = forward_loss(b)
    if b.chance(0.2):
        record(b, loss, kept)
    if b.chance(0.12):
        body(b, 1, SIMPLE)
    if b.chance(0.25):
        b.pick((2, several_losses), (1.5, losses_in_a_loop), (0.7, accumulate))(b)
        if not b.risky(0.3):
            loss = forward_loss(b)
    walk(b, loss)
    if b.chance(0.2):
        read_gradients(b)
    for optimizer in optimizers:
        step(b, optimizer)
        if not early and b.chance(0.9):
            zero(b, optimizer)
    if b.chance(0.25):
        second_loss(b, optimizers)
    if b.chance(0.5):
        record(b, loss, kept)
    if b.risky(0.1):
        saved_attribute(b)
    if recurrence is not None:
        recurrence.cut()


def second_loss(b: Builder, optimizers: list[Optimizer]) -> None:
    """Another forward and backward in the same step."""
    loss = forward_loss(b)
    walk(b, loss)
    if optimizers:
        step(b, b.choice(optimizers))


def two_players(b: Builder, kept: list[str]) -> None:
    """A step of a generator against a discriminator, or of an actor and a critic."""
    if len(b.scope.modules) < 2 or len(b.scope.optimizers) < 2:
        return train_step(b, kept)
    player, judge = b.scope.modules[:2]
    first, second = b.scope.optimizers[:2]
    b.used("two players")
    b.emit(f"fake = {player.call('x')}")
    body(b, b.choice([0, 0, 1]), SIMPLE)
    held = "fake" if b.risky(0.7) else b.choice(["fake.detach()", "fake.detach()", "fake.data"])
    b.emit(f"judged = {judge.call(held)}.mean() - {judge.call('target')}.mean()")
    zero(b, second)
    b.emit(f"judged.backward({'retain_graph=True' if b.chance(0.15) else ''})")
    step(b, second)
    zero(b, first)
    again = player.call("x") if b.chance(0.3) else "fake"
    if b.risky(0.2):
        b.emit(f"won = -{judge.call(held)}.mean()")
    else:
        b.emit(f"won = -{judge.call(again)}.mean()")
    b.emit("won.backward()")
    step(b, first)
    for loss in ("judged", "won"):
        if b.chance(0.4):
            record(b, loss, kept)
    return None


def target_update(b: Builder) -> None:
    """A slow copy of a network follows it."""
    if len(b.scope.modules) < 2 or b.scope.modules[0].weights != b.scope.modules[1].weights:
        return
    fast, slow = (m.text for m in b.scope.modules[:2])
    pairs = f"for p, q in zip({fast}.parameters(), {slow}.parameters()):"
    ways = [
        f"with torch.no_grad():\n    {pairs}\n        q.mul_(0.9).add_(0.1 * p)",
        f"{pairs}\n    q.data.copy_(0.1 * p.data + 0.9 * q.data)",
        f"{slow}.load_state_dict({fast}.state_dict())",
    ]
    b.emit(b.choice(ways), "target network")
