"""Optimizers, gradients, hooks on modules, and what a program keeps of a step."""

from __future__ import annotations

from .builder import Builder, Module, Optimizer, Tensor


def spend(b: Builder) -> None:
    """Marks what has a graph as walked."""
    for tensor in b.scope.tensors:
        if tensor.graph and not tensor.leaf:
            tensor.spent = True


def zero(b: Builder, optimizer: Optimizer) -> None:
    """Clears gradients."""
    ways = [f"{optimizer.text}.zero_grad()"] * 5 + [f"{optimizer.text}.zero_grad(set_to_none=False)"]
    for module in optimizer.modules:
        ways += [f"{module.text}.zero_grad()", f"for p in {module.text}.parameters():\n    p.grad = None"]
    b.emit(b.choice(ways), "zero_grad")


def step(b: Builder, optimizer: Optimizer) -> None:
    """An optimizer's step."""
    if optimizer.modules and b.chance(0.15):
        module = b.choice(optimizer.modules).text
        where = b.choice(["torch.nn.utils", "nn.utils"])
        b.emit(f"{where}.clip_grad_norm_({module}.parameters(), {b.choice(['1.0', 'max_norm=0.5'])})", "clip")
    b.emit(f"{optimizer.text}.step()", "step")
    spend(b)


def make_optimizer(b: Builder, name: str, modules: list[Module], leaves: list[Tensor]) -> Optimizer:
    """Writes the construction of an optimizer."""
    params = [f"{m.text}.parameters()" for m in modules]
    if len(params) == 1 and not leaves:
        what = b.choice([params[0], params[0], f"list({params[0]})", f"[p for p in {params[0]} if p.requires_grad]"])
    elif b.chance(0.4) and params:
        groups = [f'{{"params": {p}}}' for p in params] + [f'{{"params": [{t.text}], "lr": 0.01}}' for t in leaves]
        what = f"[{', '.join(groups)}]"
        b.used("param groups")
    else:
        what = " + ".join([f"list({p})" for p in params] + [f"[{', '.join(t.text for t in leaves)}]"] * bool(leaves))
    kind = b.choice(
        [
            "SGD({}, lr=0.1)",
            "SGD({}, lr=0.1, momentum=0.9)",
            "SGD({}, lr=0.1, foreach=True)",
            "Adam({})",
            "Adam({}, lr=0.01)",
            "Adam({}, fused=True)",
            "AdamW({}, lr=0.01)",
            "RMSprop({}, lr=0.01)",
            "Adagrad({})",
        ]
    )
    where = b.choice(["torch.optim.", "torch.optim.", "optim."])
    if where == "optim.":
        b.imports.add("from torch import optim")
    b.emit(
        f"{name} = {where}{kind.format(what)}",
        "optimizer:" + kind.split("(")[0] + ("(fused)" if "fused" in kind else ""),
    )
    made = Optimizer(name, modules)
    b.scope.optimizers.append(made)
    b.scope.taken.add(name)
    return made


def read_gradients(b: Builder) -> None:
    """Looks at .grad."""
    known = b.find(leaf=True)
    if b.scope.modules and b.chance(0.5):
        module = b.choice(b.scope.modules).text
        text = b.choice(
            [
                "norm_ = sum(p.grad.norm() for p in {}.parameters() if p.grad is not None)",
                "norms = [p.grad.abs().mean().item() for p in {}.parameters() if p.grad is not None]",
                "for name_, p in {}.named_parameters():\n    if p.grad is not None:\n        p.grad.mul_(0.9)",
            ]
        )
        b.emit(text.format(module), "read .grad")
    elif known:
        leaf = b.choice(known)
        b.emit(f"if {leaf.text}.grad is not None:\n    print({leaf.text}.grad.sum().item())", "read .grad")
    elif b.risky(0.3) and (inner := b.find(graph=True, leaf=False)):
        b.emit(f"print({b.choice(inner).text}.grad)", "read .grad")


def record(b: Builder, loss: str, places: list[str]) -> None:
    """Keeps the loss in something that outlives the pass."""
    known = [place for place in places if place not in ("seen", "buffer", "memory")]
    if not known:
        return
    place = b.choice(known)
    keep = b.risky(0.8)
    value = loss if keep else b.choice([f"{loss}.item()", f"{loss}.detach()", f"float({loss})"])
    if place == "history":
        b.emit(f"history.append({value})", "keep:list")
    elif place == "log":
        b.emit(f'log["loss"] = {value}' if b.chance(0.5) else f'log.setdefault("all", []).append({value})', "keep:dict")
    elif place == "recent":
        text, _ = b.tensor("M", 0)
        b.emit(f"recent.append({text if keep else f'({text}).detach()'})", "keep:deque")
    else:
        way = f"{place} = {place} + {value}" if b.chance(0.3) else f"{place} += {value}"
        if b.chance(0.2):
            way = f"{place} = 0.9 * {place} + 0.1 * {value}"
        b.emit(way, "keep:running")


def freeze(b: Builder) -> None:
    """Sets requires_grad of some parameters."""
    if not b.scope.modules:
        return
    module = b.choice(b.scope.modules).text
    b.emit(
        b.choice(
            [
                f"for p in {module}.parameters():\n    p.requires_grad_(False)",
                f"{module}.requires_grad_(False)",
                f"{module}.eval()",
            ]
        ),
        "freeze",
    )
    if b.chance(0.6):
        b.emit(f"{module}.requires_grad_(True)\n{module}.train()")


def module_hook(b: Builder, module: Module) -> bool:
    """A forward or backward hook on a module; whether it keeps the outputs in a list `seen`."""
    kept = "out" if b.risky() else b.choice(["out", "out.detach()"])
    hook = b.choice(["keep", "keep", "scale", "lambda", "backward", "pre"])
    if module.kind != "plain":
        hook = "backward" if module.kind == "stateful" else "lambda"
    text = {
        "keep": f"seen = []\ndef keep(module, args, out):\n    seen.append({kept})\n{{m}}.register_forward_hook(keep)",
        "scale": "{m}.register_forward_hook(lambda module, inputs, output: output * 2)",
        "lambda": "{m}.register_forward_hook(lambda module, inputs, output: None)",
        "pre": "{m}.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 0.1,))",
        "backward": "{m}.register_full_backward_hook(lambda module, grad_in, grad_out: None)",
    }[hook]
    b.emit(text.replace("{m}", module.text), f"hook:module:{hook}")
    return hook == "keep"
