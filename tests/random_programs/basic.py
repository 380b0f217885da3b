"""The plainest statements: assignments, in-place writes, detached tensors."""

from __future__ import annotations

from collections.abc import Callable

from .builder import Builder, Tensor
from .grammar import SHAPED_WRITES, WRITES

Fragment = Callable[[Builder], None]


def body(b: Builder, count: int, table: list[tuple[float, Fragment]]) -> None:
    """Writes some fragments of a table, while the program is not too long."""
    for _ in range(count):
        if len(b.lines) > b.budget:
            return
        b.pick(*table)(b)


def some_shape(b: Builder) -> str:
    """The shape of the next tensor."""
    return b.pick((10, "M"), (2, "V"), (1, "C"), (1.5, "H"), (0.5, "W"), (1, "Q"), (1, "S"))


def bind(b: Builder, shape: str, text: str, graph: bool) -> Tensor:
    """Assigns an expression to a new name, or to an old one of its shape."""
    old = [t for t in b.find(shape, loose=True) if t.text != text]
    if old and b.chance(0.3):
        target = b.choice(old)
        if target.text in b.scope.outside and graph and not b.risky():
            text, graph = f"({text}).detach()", False
        b.emit(f"{target.text} = {text}")
        return b.declare(target.text, shape, graph)
    name = b.fresh(shape)
    b.emit(f"{name} = {text}")
    return b.declare(name, shape, graph)


def assign(b: Builder) -> None:
    """A tensor computed from others."""
    shape = some_shape(b)
    text, graph = b.tensor(shape, b.choice([0, 1, 1, 1, 2]), graph=True if b.chance(0.85) else None)
    bind(b, shape, text, graph)


def pick_target(b: Builder) -> Tensor | None:
    """A tensor to write to."""
    wanted = b.pick((7, "graph"), (2, "data"), (0.1 + 0.8 * b.hazard, "leaf"))
    if b.scope.no_grad:
        wanted = b.pick((3, "leaf"), (2, "graph"), (3, "data"))
    found = {
        "graph": b.find(graph=True, leaf=False),
        "data": b.find(graph=False),
        "leaf": b.find(leaf=True),
    }[wanted]
    if not b.risky():
        found = [t for t in found if t.leaf or not (t.lent or t.text in b.scope.outside)]
    return b.choice(found[-5:]) if found else None


def write_to(b: Builder, target: str, shape: str) -> bool:
    """Writes to a tensor in place; whether it was given something that has a graph."""
    family = b.pick((6, "arithmetic"), (3, "function"), (2, "fill"), (1, "masked"), (1.2, "alias"), (0.2, "out"))
    if shape == "S" and family not in ("arithmetic", "function"):
        family = "arithmetic"
    templates = WRITES[family]
    if SHAPED_WRITES[shape] and b.chance(0.5):
        family, templates = "part", SHAPED_WRITES[shape]
    template = b.choice(templates).replace("{X}", f"{{{shape}}}")
    text, graph = b.expand(template, 0, t=target)
    b.emit(text, f"write:{family}")
    return graph and family != "alias"


def write(b: Builder) -> None:
    """An in-place write."""
    target = pick_target(b)
    if target is None:
        return assign(b)
    got = write_to(b, target.text, target.shape)
    target.graph = target.graph or (got and not b.scope.no_grad)
    return None


def write_through_view(b: Builder) -> None:
    """A view with a name, and a write to it."""
    known = [t for t in b.find("M") if not (t.leaf or t.lent) or b.risky(0.7)]
    if not known:
        return assign(b)
    source = b.choice(known)
    shape, text = b.choice(
        [
            ("V", f"{source.text}[0]"),
            ("H", f"{source.text}[:, :2]"),
            ("C", f"{source.text}[:, 1]"),
            ("M", f"{source.text}.view(3, 4)"),
            ("M", f"{source.text}.view_as({source.text})"),
            ("M", f"{source.text}.detach()"),
            ("M", f"{source.text}.reshape(3, 4)"),
            ("H", f"{source.text}.narrow(1, 1, 2)"),
            ("H", f"{source.text}.chunk(2, dim=1)[0]"),
            ("V", f"{source.text}.unbind(0)[2]"),
            ("V", f"{source.text}.select(0, 1)"),
        ]
    )
    name = b.fresh(shape)
    b.emit(f"{name} = {text}", "view")
    view = b.declare(name, shape, source.graph and "detach" not in text)
    view.graph = write_to(b, name, shape) or view.graph
    return None


def cut(b: Builder) -> None:
    """A detached tensor, perhaps made a leaf, perhaps written to."""
    text, _ = b.tensor("M", 0, graph=True)
    ways = ["{}.detach()", "{}.detach().clone()", "{}.data", "{}.clone().detach()", "{}.detach() * 2.0"]
    name = b.fresh("M")
    b.emit(f"{name} = {b.choice(ways).format(f'({text})')}", "detach")
    tensor = b.declare(name, "M", False)
    if b.chance(0.3):
        b.emit(
            b.choice([f"{name}.requires_grad_(True)", f"{name}.requires_grad_()", f"{name}.requires_grad = True"]),
            "leaf",
        )
        tensor.graph = tensor.leaf = True
        tensor.loose = False
    elif b.chance(0.3):
        write_to(b, name, "M")


def discard(b: Builder) -> None:
    """An expression whose value is thrown away, or a value that is only printed."""
    text, _ = b.tensor("M", 0)
    b.emit(
        b.choice(
            [
                f"({text}).shape",
                f"size = ({text}).size(0)",
                f"print(({text}).mean().item())",
                f"norm = float(({text}).norm())",
            ]
        )
    )


SIMPLE: list[tuple[float, Fragment]] = [(6, assign), (3, write), (1, write_through_view), (1, cut), (0.5, discard)]
