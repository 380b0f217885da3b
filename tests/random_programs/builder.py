"""Writes a program line by line, knowing which tensors are in scope and roughly what autograd holds for them."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from .grammar import EXPRESSIONS, SIZES, Production

T = TypeVar("T")
HOLE = re.compile(r"\{(\w+)(?::(\w))?\}")
ATOM = re.compile(r"[\w.]+(\([^()]*\))?")
CONSTANTS = {
    "mask": "torch.arange(12).view(3, 4) % 3 == 0",
    "rows": "torch.tensor([2, 0, 1])",
    "labels": "torch.tensor([0, 3, 1])",
}
NAMES = {
    "M": ["h", "z", "out", "feat", "hidden", "mix", "gate", "res", "y", "emb", "act", "logits", "ctx"],
    "V": ["v", "center", "bias", "query", "row", "direction", "avg"],
    "C": ["score", "energy", "weights", "value", "adv", "dist"],
    "H": ["left", "right", "half", "part", "low"],
    "W": ["w", "mat", "kernel", "proj", "gram"],
    "Q": ["seq", "steps", "frames", "tokens"],
    "S": ["total", "term", "cost", "reg", "obj", "penalty"],
}


@dataclass(eq=False)
class Tensor:
    """A tensor that the program can name.

    Attributes:
        text: how it is spelt here, such as `h`, `self.h` or `cache["h"]`.
        shape: its shape's letter.
        graph: whether it probably needs grad.
        leaf: it is a leaf that needs grad.
        spent: its graph was probably walked, or will be by a later pass.
        loose: it may be rebound to another tensor of its shape.
        module: it belongs to a module or an optimizer, so a write to it is a manual update.
        lent: it is a parameter of the function around, so a write to it surprises the caller.
    """

    text: str
    shape: str
    graph: bool
    leaf: bool = False
    spent: bool = False
    loose: bool = True
    module: bool = False
    lent: bool = False


@dataclass
class Scope:
    """What can be used at one place of the program.

    Attributes:
        tensors: the tensors, the newest last.
        calls: further productions, by shape: functions and modules that were defined.
        conditions: Python expressions whose truth is known, for branches.
        taken: names in use.
        outside: the tensors that were there before the training loop around this place.
        no_grad: grad mode is off here.
        walks: a backward may be written here.
    """

    tensors: list[Tensor] = field(default_factory=list)
    calls: dict[str, list[Production]] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    optimizers: list[Optimizer] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    no_grad: bool = False
    walks: bool = False

    def add_call(self, shape: str, template: str, weight: float = 6, cuts: bool = False, makes: bool = False) -> None:
        """Lets expressions of a shape call something that the program defined."""
        self.calls.setdefault(shape, []).append(Production(weight, template, cuts, makes))


@dataclass
class Module:
    """An instance of a module, or a class of modules (its name then stands for the class).

    Attributes:
        kind: `plain` (M to M), `pair` (M to two Ms), `dict` (M to a dictionary of Ms), `cell` (called by its recurrence
            only) or `stateful` (M to M, keeps a state in itself).
        weights: paths of weights (4, 4) below it.
        biases: paths of its (4,) parameters.
        children: paths of submodules that take an M.
        arguments: what its constructor may be given.
        reset: it has a method `reset`.
        size: it has a property `size`, a scalar.
        loss: it has a method `loss(x, y)`.
    """

    text: str
    kind: str
    weights: tuple[str, ...] = ()
    biases: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    state: str | None = None
    reset: bool = False
    size: bool = False
    loss: bool = False

    def call(self, argument: str) -> str:
        """The text of a call of it that gives an M."""
        first = {"pair": "[0]", "dict": '["out"]'}.get(self.kind, "")
        return f"{self.text}({argument}){first}"

    def path(self, below: str) -> str:
        """The text of something below it."""
        return f"{self.text}{below}" if below.startswith("[") else f"{self.text}.{below}"


@dataclass
class Optimizer:
    """An optimizer and what it was given."""

    text: str
    modules: list[Module]


class Builder:
    """The program so far.

    Args:
        rng: every choice comes from it.
        hazard: how often a dangerous use is written on purpose, from 0 to 1.
    """

    def __init__(self, rng: random.Random, hazard: float) -> None:
        self.rng, self.hazard = rng, hazard
        self.lines: list[str] = []
        self.indent = 0
        self.scope = Scope()
        self.features: Counter[str] = Counter()
        self.imports: set[str] = set()
        self.budget = 45
        self.nesting = 0

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def risky(self, scale: float = 1.0) -> bool:
        """True where the program should do the dangerous thing."""
        return self.rng.random() < self.hazard * scale

    def pick(self, *choices: tuple[float, T]) -> T:
        """One of the weighted choices."""
        return self.rng.choices([c for _, c in choices], [w for w, _ in choices])[0]

    def choice(self, items: Sequence[T]) -> T:
        """One of the items, all alike."""
        return self.rng.choice(items)

    def emit(self, text: str, feature: str | None = None) -> None:
        """Writes one or more lines at the present indentation."""
        for line in text.splitlines():
            self.lines.append("    " * self.indent + line)
        if feature:
            self.features[feature] += 1

    def used(self, feature: str) -> None:
        """Counts a feature of the language or of torch."""
        self.features[feature] += 1

    @contextmanager
    def block(self, header: str, feature: str | None = None) -> Iterator[None]:
        """An indented suite. Names that it introduces are out of scope after it."""
        self.emit(header, feature)
        self.indent += 1
        self.nesting += 1
        start, known = len(self.lines), {t.text for t in self.scope.tensors}
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.scope.tensors = [t for t in self.scope.tensors if t.text in known]
        self.indent -= 1
        self.nesting -= 1

    @contextmanager
    def function(self, header: str, parameters: Sequence[Tensor], outer: Sequence[Tensor] = ()) -> Iterator[Scope]:
        """A function's body, with a scope of its own."""
        outside, self.scope = self.scope, Scope(list(parameters) + list(outer))
        for tensor in outer:
            self.scope.taken.add(tensor.text)
        for tensor in parameters:
            tensor.lent = True
            self.scope.taken.add(tensor.text)
        self.scope.calls = {shape: list(calls) for shape, calls in outside.calls.items()}
        nesting, self.nesting = self.nesting, 1
        try:
            with self.block(header):
                yield self.scope
        finally:
            self.scope, self.nesting = outside, nesting

    @contextmanager
    def grad_mode(self, off: bool) -> Iterator[None]:
        """Within it, new tensors have no graph (or have one)."""
        before, self.scope.no_grad = self.scope.no_grad, off
        yield
        self.scope.no_grad = before

    def fresh(self, shape: str) -> str:
        """A new name that suits the shape."""
        return self.name(self.choice(NAMES[shape]))

    def name(self, stem: str) -> str:
        """A new name."""
        name, number = stem, 2
        while name in self.scope.taken:
            name, number = f"{stem}{number}", number + 1
        self.scope.taken.add(name)
        return name

    def declare(self, text: str, shape: str, graph: bool, **more: bool) -> Tensor:
        """Puts a tensor in scope, in the place of an earlier one of that name."""
        self.scope.tensors = [t for t in self.scope.tensors if t.text != text]
        tensor = Tensor(text, shape, graph and not self.scope.no_grad, **more)
        self.scope.tensors.append(tensor)
        return tensor

    def forget(self, tensor: Tensor) -> None:
        """Takes a tensor out of scope."""
        self.scope.tensors = [t for t in self.scope.tensors if t is not tensor]

    def find(
        self,
        shape: str | None = None,
        *,
        graph: bool | None = None,
        leaf: bool | None = None,
        loose: bool | None = None,
    ) -> list[Tensor]:
        """Tensors in scope of that kind, those that are safe to use first where the program is careful."""
        found = [
            t
            for t in self.scope.tensors
            if (shape is None or t.shape == shape)
            and (graph is None or t.graph == graph)
            and (leaf is None or t.leaf == leaf)
            and (loose is None or t.loose == loose)
        ]
        if not self.risky(0.5):
            found = [t for t in found if not (t.spent and t.graph)]
        return found

    def number(self) -> str:
        """A small number."""
        return self.choice(["0.5", "2.0", "0.1", "1.5", "0.9", "3", "-0.5"])

    def tensor(self, shape: str, depth: int = 1, graph: bool | None = None) -> tuple[str, bool]:
        """An expression of that shape.

        Args:
            shape: the letter.
            depth: how many calls deep it may be.
            graph: True where it must have a graph, None where it does not matter.

        Returns:
            Its text, and whether it probably has a graph.
        """
        known = self.find(shape, graph=graph)
        if known and self.chance(0.85 if depth <= 0 else 0.25):
            tensor = self.choice(known[-6:])
            return tensor.text, tensor.graph
        if depth < 0:
            return self._last_resort(shape, graph)
        calls = [p for p in self.scope.calls.get(shape, []) if not (p.cuts and graph)]
        plain = [p for p in EXPRESSIONS[shape] if not (p.cuts and graph)]
        eager = 0.3 if known or not graph else 0.7
        table = calls if calls and self.chance(eager) else plain
        production = self.rng.choices(table, [p.weight for p in table])[0]
        text, got = self.expand(production.template, depth - 1, None if production.makes else graph)
        return text, (got or production.makes) and not production.cuts and not self.scope.no_grad

    def _last_resort(self, shape: str, graph: bool | None) -> tuple[str, bool]:
        known = self.find(shape, graph=graph)
        modules = [m for m in self.scope.modules if m.kind in ("plain", "stateful")] if shape == "M" and graph else []
        if modules and (not known or self.chance(0.3)):
            return f"{self.choice(modules).text}({self._data('M')})", True
        if known:
            tensor = self.choice(known)
            return tensor.text, tensor.graph
        features = [t for t in self.find(graph=graph) if t.shape in "MW"]
        if features and shape != "Q":
            source = self.choice(features)
            few = "{}" if source.shape == "M" else "{}[:3]"
            ways = {
                "V": ["{}[0]", "{}.mean(0)", "{}[-1]", "{}.sum(dim=0)"],
                "C": [f"{few}[:, 0]", f"{few}.sum(1)", f"{few}.mean(dim=1)"],
                "H": [f"{few}[:, :2]", f"{few}[:, 2:]", f"{few}.chunk(2, dim=1)[0]"],
                "S": ["{}.sum()", "{}.mean()", "{}.pow(2).mean()", "{}.norm()"],
                "M": [few],
                "W": ["{}" if source.shape == "W" else "({0}.t() @ {0})"],
            }
            return self.choice(ways[shape]).format(source.text), source.graph
        return self._data(shape), False

    def _data(self, shape: str) -> str:
        data = [t.text for t in self.scope.tensors if t.shape == shape and not t.graph]
        if data and self.chance(0.8):
            return self.choice(data)
        return f"torch.randn({SIZES[shape]})"

    def expand(self, template: str, depth: int = 0, graph: bool | None = None, **given: str) -> tuple[str, bool]:
        """Fills a template's holes; the first one gets the graph, where one is asked for."""
        has_graph = False
        need = graph

        def fill(match: re.Match[str]) -> str:
            nonlocal has_graph, need
            hole, kind = match.groups()
            if hole in given:
                return given[hole]
            if hole == "num":
                return self.number()
            if hole in CONSTANTS:
                return hole
            cut = template[match.end() :].startswith(".detach()")
            wanted = None if cut else need
            if kind == "v" and (known := self.find(hole, graph=wanted)):
                tensor = self.choice(known)
                text, got = tensor.text, tensor.graph
            else:
                text, got = self.tensor(hole, depth, wanted)
            need = None if got and not cut else need
            has_graph = has_graph or (got and not cut)
            return text if ATOM.fullmatch(text) else f"({text})"

        return HOLE.sub(fill, template), has_graph
