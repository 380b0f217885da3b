"""Branches, inner loops, grad modes, exceptions and closures."""

from __future__ import annotations

from .basic import SIMPLE, assign, bind, body
from .builder import Builder, Tensor


def branch(b: Builder) -> None:
    """An if whose condition Python knows."""
    conditions = [*b.scope.conditions] or ["len([0, 1]) == 2"]
    condition = b.choice(conditions)
    if b.chance(0.2):
        condition = f"not ({condition})"
    if b.chance(0.05):
        text, _ = b.tensor("S", 0)
        condition = f"({text}).item() > {b.number()}"
        b.used("branch:data")
    kept = {t.text: t.graph for t in b.scope.tensors}
    with b.block(f"if {condition}:", "branch"):
        body(b, b.choice([1, 1, 2]), SIMPLE)
    if b.chance(0.5):
        with b.block("else:"):
            body(b, b.choice([1, 1, 2]), SIMPLE)
    for tensor in b.scope.tensors:
        tensor.graph = tensor.graph or kept.get(tensor.text, False)


def conditional_expression(b: Builder) -> None:
    """`a if c else b`."""
    condition = b.choice(b.scope.conditions or ["True"])
    first, graph = b.tensor("M", 1, graph=True)
    second, other = b.tensor("M", 1)
    bind(b, "M", f"({first}) if {condition} else ({second})", graph and other)
    b.used("ifexp")


def graph_attribute(b: Builder) -> None:
    """Python facts about a tensor, and branches on them."""
    known = b.find(loose=True)
    if not known:
        return assign(b)
    target = b.choice(known)
    fact = b.choice([f"{target.text}.requires_grad", f"{target.text}.grad_fn is not None", f"{target.text}.is_leaf"])
    with b.block(f"if {fact}:", "branch:requires_grad"):
        body(b, 1, SIMPLE)
    return None


def without_grad(b: Builder) -> None:
    """A block with grad mode off, perhaps with an island where it is on again."""
    header = b.pick((6, "with torch.no_grad():"), (1, "with torch.set_grad_enabled(False):"))
    feature = "no_grad"
    if b.risky(0.15):
        header, feature = "with torch.inference_mode():", "inference_mode"
    with b.grad_mode(True), b.block(header, feature):
        kept = list(b.scope.tensors)
        body(b, b.choice([1, 2]), SIMPLE)
        if b.chance(0.15):
            with b.grad_mode(False), b.block("with torch.enable_grad():", "enable_grad"):
                body(b, 1, SIMPLE)
        made = [t for t in b.scope.tensors if t not in kept]
    b.scope.tensors += [t for t in made if t.text.isidentifier()]


def switch_grad(b: Builder) -> None:
    """Grad mode turned off and on again by statements."""
    b.emit("torch.set_grad_enabled(False)", "set_grad_enabled")
    with b.grad_mode(True):
        body(b, 1, SIMPLE)
    b.emit("torch.set_grad_enabled(True)")


def guarded(b: Builder) -> None:
    """A try with a finally or an except."""
    with b.block("try:", "try"):
        body(b, b.choice([1, 2]), SIMPLE)
    if b.chance(0.7):
        with b.block("finally:"):
            b.emit(b.choice(["count = 1", "pass", "done = True"]))
    else:
        with b.block("except KeyError:"):
            b.emit("pass")


def counted_loop(b: Builder) -> None:
    """A loop that rebinds or accumulates."""
    if b.nesting >= 4:
        return assign(b)
    index = b.name("k")
    known = [t for t in b.find("M", graph=True, loose=True) if t.text.isidentifier()]
    target = b.choice(known) if known and b.chance(0.7) else None
    if b.chance(0.25):
        b.emit(f"{index} = 0")
        with b.block(f"while {index} < 2:", "loop:while"):
            loop_body(b, target)
            b.emit(f"{index} += 1")
        return None
    header = b.choice([f"for {index} in range(2):", f"for {index} in range(3):", f"for {index} in reversed(range(2)):"])
    if b.chance(0.3):
        header = f'for {index}, name in enumerate(["a", "b", "c"]):'
    if b.chance(0.2):
        header = f"for {index}, rate in zip(range(3), [0.1, 0.2, 0.3]):"
    with b.block(header, "loop:range"):
        b.scope.conditions.append(f"{index} > 0")
        loop_body(b, target)
        b.scope.conditions.pop()
    return None


def loop_body(b: Builder, target: Tensor | None) -> None:
    """What an inner loop does."""
    if target is None:
        body(b, b.choice([1, 2]), SIMPLE)
        return
    template = b.choice(
        [
            "{t} = {t} + {M}",
            "{t} = {t} * {num} + {M}",
            "{t} = torch.tanh({t} @ {W})",
            "{t} = {t}.sigmoid() * {M}",
            "{t} += {M}",
        ]
    )
    b.emit(b.expand(template, 0, t=target.text)[0])
    if b.chance(0.3):
        body(b, 1, SIMPLE)


def closure(b: Builder) -> None:
    """A function defined here that uses a tensor from around it."""
    known = b.find("M", graph=True) + b.find("V", graph=True)
    if not known or b.nesting >= 3:
        return assign(b)
    held = b.choice(known)
    name = b.name(b.choice(["apply", "shift", "reweight", "inner"]))
    if b.chance(0.3):
        text, _ = b.expand("lambda v: v * {t}", 0, t=held.text)
        b.emit(f"{name} = {text}", "closure:lambda")
    else:
        default = b.chance(0.3)
        parameters = f"v, scale={b.number()}, other={held.text}" if default else "v"
        with b.block(f"def {name}({parameters}):", "closure:def"):
            source = "other" if default else held.text
            b.emit(
                b.choice(
                    [
                        f"return v * {source}",
                        f"return torch.sigmoid(v + {source})",
                        f"out_ = v + {source}\nout_ *= 0.5\nreturn out_",
                        f"out_ = torch.exp(v)\nout_ += {source}\nreturn out_",
                        f"return v @ {source}.T if v.shape[0] == 9 else v - {source}",
                    ]
                )
            )
    text, _ = b.tensor("M", 0)
    bind(b, "M", f"{name}({text})", True)
    return None
