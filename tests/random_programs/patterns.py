"""Patterns of real training code that span several lines: several losses, rollouts, replay, accumulation, globals."""

from __future__ import annotations

from .basic import bind
from .builder import Builder
from .optimizers import spend, step, zero
from .walks import forward_loss


def several_losses(b: Builder) -> None:
    """Two losses over one forward: walked together, one by one, or one by one with the graph kept."""
    shared = b.fresh("M")
    text, _ = b.tensor("M", 1, graph=True)
    b.emit(f"{shared} = {text}")
    b.declare(shared, "M", True)
    first, _ = b.expand(b.choice([f"{shared}.mean()", f"F.mse_loss({shared}, {{M}})", f"({shared} * {{M}}).sum()"]), 0)
    second, _ = b.expand(
        b.choice([f"{shared}.pow(2).sum()", f"F.cross_entropy({shared}, {{labels}})", f"{shared}.norm()"]), 0
    )
    one, two = b.name("loss_a"), b.name("loss_b")
    b.emit(f"{one} = {first}\n{two} = {second}")
    way = "apart" if b.risky(0.4) else b.choice(["sum", "retain", "autograd", "list", "loop"])
    b.emit(
        {
            "apart": f"{one}.backward()\n{two}.backward()",
            "sum": f"({one} + 0.5 * {two}).backward()",
            "retain": f"{one}.backward(retain_graph=True)\n{two}.backward()",
            "autograd": f"torch.autograd.backward([{one}, {two}])",
            "list": f"losses_ = [{one}, {two}]\nsum(losses_).backward()",
            "loop": f"for index_, part_ in enumerate([{one}, {two}]):\n    part_.backward(retain_graph=index_ == 0)",
        }[way],
        f"losses:{way}",
    )
    spend(b)


def losses_in_a_loop(b: Builder) -> None:
    """An inner loop of forwards whose losses are walked one by one, or kept and walked together."""
    losses, index = b.name("losses"), b.name("k")
    together = b.chance(0.6)
    if together:
        b.emit(f"{losses} = []" if b.chance(0.6) else f"{losses} = 0")
    number = b.lines[-1].endswith("0") if together else False
    with b.block(f"for {index} in range({b.choice(['2', '3'])}):", "loop:losses"):
        text, _ = b.tensor("S", 1, graph=True)
        if not together:
            b.emit(f"({text}).backward()")
        elif number:
            b.emit(f"{losses} += {text}" if b.chance(0.5) else f"{losses} = {losses} + {text}")
        else:
            b.emit(f"{losses}.append({text})")
    if together:
        total = (
            losses
            if number
            else b.choice([f"torch.stack({losses}).mean()", f"sum({losses})", f"sum({losses}) / len({losses})"])
        )
        if not number and b.risky(0.2):
            b.emit(f"for part_ in {losses}:\n    part_.backward()")
        else:
            b.emit(f"({total}).backward()")
    spend(b)


def rollout(b: Builder) -> None:
    """Fills a buffer that outlives the pass, walks what is in it, and clears it (or forgets to)."""
    text, _ = b.tensor("S", 1, graph=True)
    b.emit(f"buffer.append({text})", "rollout")
    b.emit(
        b.choice(
            ["torch.stack(buffer).sum().backward()", "sum(buffer).backward()", "(sum(buffer) / len(buffer)).backward()"]
        )
    )
    spend(b)
    if not b.risky(0.5):
        b.emit(b.choice(["buffer.clear()", "del buffer[:]", "buffer[:] = []"]))


def replay(b: Builder) -> None:
    """Uses what a bounded buffer holds of earlier passes."""
    text, graph = b.tensor("M", 0, graph=True)
    kept = text if b.risky(0.6) else b.choice([f"({text}).detach()", f"({text}).detach().clone()", f"({text}).data"])
    b.emit(f"memory.append({kept})", "replay")
    use = b.choice(
        [
            "torch.stack(list(memory)).mean(0)",
            "sum(memory)",
            "memory[0]",
            "memory[-1] * 2",
            "sum(m * 0.5 for m in memory)",
        ]
    )
    bind(b, "M", use, graph and kept == text)


def accumulate(b: Builder) -> None:
    """Steps only every other pass."""
    if not b.scope.optimizers:
        return
    optimizer = b.choice(b.scope.optimizers)
    loss = forward_loss(b)
    b.emit(f"({loss} / 2).backward()", "accumulation")
    with b.block(f"if {b.choice(b.scope.conditions or ['True'])}:"):
        step(b, optimizer)
        zero(b, optimizer)


def global_state(b: Builder) -> None:
    """A function that changes a module-level name; written before the loop."""
    keep = "value" if b.risky() else "value.detach()"
    way = b.choice([f"ema = 0.9 * ema + 0.1 * {keep}", f"ema = {keep}", f"ema += {keep}"])
    b.emit(f"ema = torch.zeros(3, 4)\ndef update_ema(value):\n    global ema\n    {way}\n    return ema", "global")
    b.scope.taken |= {"ema", "update_ema"}
    b.scope.add_call("M", "update_ema({M})", 8)


def counter(b: Builder) -> None:
    """A closure with nonlocal state; written before the loop."""
    keep = "value" if b.risky() else "value.detach()"
    way = b.choice([f"total = total + {keep}", f"total = {keep} * 0.5", f"total += {keep}"])
    with b.block("def make_tracker():", "nonlocal"):
        b.emit("total = torch.zeros(3, 4)")
        with b.block("def track(value):"):
            b.emit(f"nonlocal total\n{way}\nreturn total")
        b.emit("return track")
    b.emit("track = make_tracker()")
    b.scope.taken |= {"track", "make_tracker"}
    b.scope.add_call("M", "track({M})", 8)


def hooked_features(b: Builder) -> None:
    """Reads what a forward hook of the first module kept."""
    text, _ = b.expand("{M}", 0)
    if not b.risky(0.4):
        b.emit("seen.clear()")
    b.emit(f"{b.scope.modules[0].text}({text})", "hooked features")
    bind(b, "M", b.choice(["seen[-1]", "seen[0]", "sum(seen)"]), True)
