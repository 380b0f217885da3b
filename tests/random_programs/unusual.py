"""Legal Python that training code uses now and then: aliased containers, odd loops, caught errors, small classes."""

from __future__ import annotations

from .basic import SIMPLE, Fragment, assign, bind, body, write_to
from .builder import Builder

LIST_ALIASES = ["{n} = [{a}] * 2", "{n} = [{a}, {a}]", "{n} = {{0: {a}, 1: {a}}}", "{n} = list(({a}, {b}))"]
HOLDER_METHODS = [
    ("def __mul__(self, other):\n    return self.value * other", "{} * 2.0"),
    ("def __getitem__(self, key):\n    return self.value * key", "{}[2]"),
    ("def __call__(self, other):\n    self.count += 1\n    return self.value + other", "{}(1.0)"),
    ("@property\ndef doubled(self):\n    return self.value * 2", "{}.doubled"),
    ("def scale_(self, by):\n    self.value *= by\n    return self", "{}.scale_(0.5).value"),
    ("def __iter__(self):\n    yield self.value\n    yield self.value * 2", "sum({})"),
]


def shared_elements(b: Builder) -> None:
    """A container that holds one tensor more than once, or another name of a container."""
    first, graph = b.tensor("M", 1)
    second, other = b.tensor("M", 0)
    items = b.name("items")
    b.emit(b.choice(LIST_ALIASES).format(n=items, a=first, b=second), "aliased container")
    if b.chance(0.3):
        b.emit(f"again_ = {items}")
        items = "again_"
    if b.risky(0.5):
        graph = write_to(b, f"{items}[0]", "M") or graph
    elif b.chance(0.5):
        b.emit(f"{items}[0] = {items}[0] * {b.number()}")
    bind(b, "M", f"{items}[{b.choice(['0', '1'])}]", graph or other)


def odd_loop(b: Builder) -> None:
    """while True with a break, for with else, nested loops, early continue."""
    text, graph = b.tensor("M", 1, graph=True)
    name, index = b.fresh("M"), b.name("k")
    b.emit(f"{name} = {text}")
    change = b.choice(
        [f"{name} = {name} * 0.5", f"{name} = torch.tanh({name})", f"{name} = {name} + {b.tensor('M', 0)[0]}"]
    )
    if b.risky(0.3):
        change = b.choice([f"{name} += 0.1", f"{name}.tanh_()", f"{name}[0] = 0.0"])
    loops = {
        "forever": "{i} = 0\nwhile True:\n    {change}\n    {i} += 1\n    if {i} >= 2:\n        break",
        "else": "for {i} in range(2):\n    {change}\nelse:\n    {name} = {name} * 2",
        "nested": "for {i} in range(2):\n    for j_ in range(2):\n        if j_ != {i}:\n            {change}",
        "countdown": "{i} = 3\nwhile {i}:\n    {i} -= 1\n    if {i} == 1:\n        continue\n    {change}",
        "slice": "for {i} in [0, 1, 2][1:]:\n    {change}",
    }
    way = b.choice(list(loops))
    b.emit(loops[way].format(i=index, name=name, change=change), f"loop:{way}")
    b.declare(name, "M", graph)


def caught(b: Builder) -> None:
    """A backward whose error the program takes."""
    text, _ = b.tensor("S", 0, graph=True)
    twice = b.risky(0.6)
    lines = f"once_ = {text}\ntry:\n    once_.backward()\n"
    if twice:
        lines += "    once_.backward()\n"
    b.emit(
        lines + b.choice(["except RuntimeError as error:\n    print(error)", "except Exception:\n    pass"]),
        "caught error",
    )
    for tensor in b.scope.tensors:
        tensor.spent = tensor.spent or (tensor.graph and not tensor.leaf)


def bound_method(b: Builder) -> None:
    """A method taken without its call, then called."""
    text, graph = b.tensor("M", 1, graph=True)
    name = b.fresh("M")
    way = b.choice(
        [
            f"op_ = ({text}).mul\n{name} = op_(2.0)",
            f"op_ = torch.sigmoid\n{name} = op_({text})",
            f"ops_ = [torch.tanh, F.relu]\n{name} = {text}\nfor op_ in ops_:\n    {name} = op_({name})",
            f"{name} = torch.Tensor.tanh({text})",
            f"{name} = operator.mul({text}, 0.5)",
        ]
    )
    if "operator" in way:
        b.imports.add("import operator")
    b.emit(way, "bound method")
    b.declare(name, "M", graph)


def dynamic_attribute(b: Builder) -> None:
    """setattr, getattr and a bag of attributes."""
    text, graph = b.tensor("M", 1)
    other, more = b.tensor("M", 0)
    bag = b.name("bag")
    b.imports.add("from types import SimpleNamespace")
    b.emit(f"{bag} = SimpleNamespace(h={text}, z={other})", "namespace")
    if b.chance(0.3):
        b.emit(f'setattr({bag}, "h", {bag}.h * 2)')
    if b.risky(0.4):
        write_to(b, f"{bag}.z", "M")
    bind(b, "M", b.choice([f"{bag}.h + {bag}.z", f'getattr({bag}, "h")', f"{bag}.z"]), graph or more)


def optional(b: Builder) -> None:
    """None until it is set; tests for None; walrus."""
    text, graph = b.tensor("M", 1, graph=True)
    name = b.name("maybe_")
    b.emit(f"{name} = None")
    condition = b.choice(b.scope.conditions or ["True"])
    with b.block(f"if {condition}:", "optional"):
        b.emit(f"{name} = {text}")
    with b.block(f"if {name} is not None:"):
        target = f"{name}"
        b.emit(b.choice([f"{target} = {target} * 2", f"{target} = {target}.exp()", f"{target} = {target}.detach()"]))
        body(b, 1, SIMPLE)
    other, more = b.tensor("M", 0)
    bind(
        b,
        "M",
        b.choice([f"{other} if {name} is None else {name}", f"{other} if {name} is None else {name} + {other}"]),
        more and graph,
    )


def merged(b: Builder) -> None:
    """itertools, dictionary unpacking, sorting, reversed."""
    first, graph = b.tensor("M", 1)
    second, other = b.tensor("M", 1)
    text = b.choice(
        [
            f"sum(itertools.chain([{first}], [{second}]))",
            f"{{**{{'p': {first}}}, **{{'q': {second}}}}}['q']",
            f"({{'p': {first}}} | {{'p': {second}}})['p']",
            f"[*[{first}], *({second},)][1]",
            f"list(reversed([{first}, {second}]))[0]",
            f"sorted([({first}, 1), ({second}, 0)], key=lambda pair: pair[1])[0][0]",
            f"list(itertools.islice([{first}, {second}], 1))[0]",
            f"list(itertools.accumulate([{first}, {second}]))[-1]",
            f"torch.stack([p_ * q_ for p_, q_ in zip([{first}, {second}], [0.5, 2.0])]).sum(0)",
            f"torch.stack([p_ for p_ in [{first}, {second}] if p_.dim() > 1]).mean(0)",
            f"sum(v_ for k_, v_ in {{'p': {first}, 'q': {second}}}.items() if k_ != 'p')",
        ]
    )
    if "itertools" in text:
        b.imports.add("import itertools")
    b.used("itertools and unpacking")
    bind(b, "M", text, graph and other)


def local_class(b: Builder) -> None:
    """A small class defined here that holds a tensor."""
    if b.nesting >= 3:
        return assign(b)
    text, graph = b.tensor("M", 0, graph=True)
    name = b.name("Holder")
    keep = "self.value = value" if b.risky() else b.choice(["self.value = value", "self.value = value.clone()"])
    with b.block(f"class {name}:", "local class"):
        b.emit(f"def __init__(self, value):\n    {keep}\n    self.count = 0")
        method, use = b.choice(HOLDER_METHODS)
        b.emit(method)
    holder = b.name("holder")
    b.emit(f"{holder} = {name}({text})")
    bind(b, "M", use.format(holder), graph)
    return None


UNUSUAL: list[tuple[float, Fragment]] = [
    (0.8, shared_elements),
    (0.8, odd_loop),
    (0.3, caught),
    (0.4, bound_method),
    (0.4, dynamic_attribute),
    (0.6, optional),
    (0.6, merged),
    (0.5, local_class),
]
