"""Losses, and backward in its many spellings."""

from __future__ import annotations

from .basic import SIMPLE, body
from .builder import Builder
from .optimizers import spend, step


def forward_loss(b: Builder) -> str:
    """Assigns a loss and returns its name."""
    name = b.name(b.choice(["loss", "loss", "objective", "err"]))
    text, graph = b.tensor("S", b.choice([1, 1, 2]), graph=True)
    if b.chance(0.25):
        more, other = b.tensor("S", 1)
        text, graph = f"({text}) + {b.number()} * ({more})", graph or other
    plain = [m for m in b.scope.modules if m.kind in ("plain", "stateful")]
    if not graph and plain:
        text = f"{b.choice(plain).text}({b.expand('{M}', 0)[0]}).mean()"
    elif not graph and (leaves := b.find(leaf=True)):
        text = f"({text}) * {b.choice(leaves).text}.sum()"
    if b.risky(0.04):
        text = b.choice([f"torch.tensor(({text}).item(), requires_grad=True)", f"({text}).detach()", f"({text}).data"])
        b.used("cut loss")
    b.emit(f"{name} = {text}")
    b.declare(name, "S", True, loose=False)
    return name


def walk(b: Builder, loss: str) -> None:
    """A backward from a loss."""
    ways = [(12, _plain), (1.5, _retained), (1.5, _inputs), (1, _create_graph), (1.5, _functional), (1.5, _grad_update)]
    ways += [(0.7, _vector), (0.8, _grad_assign)]
    b.pick(*ways)(b, loss)
    spend(b)
    if b.risky(0.2):
        _plain(b, loss)
        b.used("walk again")


def _plain(b: Builder, loss: str) -> None:
    if b.risky(0.05):
        text, _ = b.tensor("M", 0, graph=True)
        b.emit(f"({text}).backward()", "walk:vector without gradient")
        return
    b.emit(f"{loss}.backward()", "walk:backward")


def _retained(b: Builder, loss: str) -> None:
    b.emit(f"{loss}.backward(retain_graph=True)", "walk:retain_graph")
    if b.chance(0.6):
        _between(b)
        text, _ = b.tensor("S", 1, graph=True)
        b.emit(b.choice([f"{loss}.backward()", f"({loss} * 2).backward()", f"({text}).backward()"]))


def _create_graph(b: Builder, loss: str) -> None:
    b.emit(f"{loss}.backward(create_graph=True)", "walk:create_graph")
    known = b.find(leaf=True)
    if known and b.chance(0.5):
        leaf = b.choice(known)
        with b.block(f"if {leaf.text}.grad is not None:"):
            b.emit(
                f"{leaf.text}.grad.pow(2).sum().backward()"
                if b.chance(0.5)
                else f"print({leaf.text}.grad.norm().item())"
            )


def _inputs(b: Builder, loss: str) -> None:
    known = b.find(leaf=True)
    if b.scope.modules and b.chance(0.6):
        what = f"list({b.choice(b.scope.modules).text}.parameters())"
    elif known:
        what = f"[{b.choice(known).text}]"
    else:
        return _plain(b, loss)
    b.emit(f"{loss}.backward(inputs={what}{b.choice(['', '', ', retain_graph=True'])})", "walk:inputs")
    if b.chance(0.4):
        _plain(b, loss)
    return None


def _functional(b: Builder, loss: str) -> None:
    if b.chance(0.5):
        b.emit(f"torch.autograd.backward({loss})", "walk:autograd.backward")
        return
    other, _ = b.tensor("S", 1, graph=True)
    b.emit(f"torch.autograd.backward([{loss}, {other}])", "walk:autograd.backward")


def _vector(b: Builder, loss: str) -> None:
    text, _ = b.tensor("M", 1, graph=True)
    gradient = b.choice(["torch.ones(3, 4)", "gradient=torch.randn(3, 4)"])
    b.emit(f"({text}).backward({gradient})", "walk:vector")
    if b.chance(0.5):
        _plain(b, loss)


def _targets(b: Builder) -> str | None:
    known = b.find(leaf=True)
    if b.scope.modules and b.chance(0.6):
        return f"list({b.choice(b.scope.modules).text}.parameters())"
    return f"[{b.choice(known).text}]" if known else None


def _grad_update(b: Builder, loss: str) -> None:
    targets = _targets(b)
    if targets is None:
        return _plain(b, loss)
    grads = b.name("grads")
    options = "allow_unused=True" if b.chance(0.95) else ""
    options += b.choice(["", "", ", retain_graph=True", ", create_graph=True"]) if options else ""
    b.emit(f"{grads} = torch.autograd.grad({loss}, {targets}{', ' if options else ''}{options})", "walk:autograd.grad")
    if b.chance(0.6):
        safe = "with torch.no_grad():\n    for p, g in zip({t}, {g}):\n        if g is not None:\n            {u}"
        update = b.choice(["p -= 0.1 * g", "p.sub_(0.1 * g)", "p.add_(g, alpha=-0.1)", "p.copy_(p - 0.1 * g)"])
        if b.risky(0.15):
            safe = "for p, g in zip({t}, {g}):\n    if g is not None:\n        {u}"
        elif b.chance(0.2):
            safe, update = "for p, g in zip({t}, {g}):\n    if g is not None:\n        {u}", "p.data -= 0.1 * g"
        b.emit(safe.format(t=targets, g=grads, u=update), "manual update")
    elif b.chance(0.5):
        norm = b.fresh("S")
        b.emit(f"{norm} = sum(g.pow(2).sum() for g in {grads} if g is not None)", "generator expression")
        b.declare(norm, "S", "create_graph" in options, loose=False)
        if "create_graph" in options or b.risky(0.5):
            b.emit(f"({loss} + 0.1 * {norm}).backward()", "walk:penalty")
    return None


def _grad_assign(b: Builder, loss: str) -> None:
    if not b.scope.modules:
        return _plain(b, loss)
    module = b.choice(b.scope.modules).text
    b.emit(f"grads_ = torch.autograd.grad({loss}, {module}.parameters(), allow_unused=True)", "walk:autograd.grad")
    b.emit(f"for p, g in zip({module}.parameters(), grads_):\n    p.grad = g")
    return None


def _between(b: Builder) -> None:
    if b.chance(0.3):
        body(b, 1, SIMPLE)
    elif b.chance(0.15) and b.scope.optimizers:
        step(b, b.choice(b.scope.optimizers))


def fill_grad(b: Builder) -> None:
    """Second-order work within a step: penalties, Hessian products, inner updates."""
    leaves = b.find("W", leaf=True) + b.find("M", leaf=True)
    if not leaves:
        return
    leaf = b.choice(leaves)
    loss, _ = b.expand(f"({{M}} {'@' if leaf.shape == 'W' else '*'} {leaf.text}).pow(2).mean()", 0)
    create = "" if b.risky(0.2) else ", create_graph=True"
    grad = b.name("g")
    b.emit(f"inner = {loss}")
    b.emit(f"{grad}, = torch.autograd.grad(inner, [{leaf.text}]{create})" if b.chance(0.3) else
           f"{grad} = torch.autograd.grad(inner, {leaf.text}{create})[0]", "second order")  # fmt: skip
    way = b.choice(["penalty", "hvp", "fast"])
    if way == "penalty":
        b.emit(f"extra = {b.choice([f'{grad}.pow(2).sum()', f'({grad}.norm() - 1) ** 2', f'{grad}.abs().mean()'])}")
        b.declare("extra", "S", bool(create), loose=False)
        if b.chance(0.5):
            b.emit("extra.backward()")
            spend(b)
    elif way == "hvp":
        b.emit(f"hv = torch.autograd.grad(({grad} * torch.ones_like({grad})).sum(), {leaf.text})[0]")
    else:
        b.emit(f"fast = {leaf.text} - 0.1 * {grad}")
        if leaf.shape == "M":
            b.declare("fast", "M", True)
        else:
            b.declare("fast", "W", True)
        if b.chance(0.4):
            text, _ = b.expand(f"({{M}} {'@' if leaf.shape == 'W' else '*'} fast).mean()", 0)
            b.emit(f"({text}).backward()")
            spend(b)
    b.scope.taken |= {"inner", "extra", "hv", "fast"}


def saved_attribute(b: Builder) -> None:
    """Reads what a node saved."""
    text, _ = b.tensor("M", 0, graph=True)
    name = b.fresh("M")
    b.emit(f"{name} = torch.sigmoid({text})")
    b.declare(name, "M", True)
    b.emit(f"print({name}.grad_fn._saved_result.sum().item())", "saved attribute")
