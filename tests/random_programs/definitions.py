"""Functions, custom Functions and dataclasses that random programs define at the top."""

from __future__ import annotations

from .basic import SIMPLE, Fragment, assign, body, cut, write, write_through_view
from .builder import Builder, Tensor
from .containers import build_dict, build_list
from .control import branch, counted_loop

FORWARD: list[tuple[float, Fragment]] = [
    (8, assign),
    (3, write),
    (1, write_through_view),
    (1.5, build_list),
    (0.7, build_dict),
    (1, branch),
]
FORWARD += [(1, counted_loop), (0.5, cut)]


def helper(b: Builder) -> None:
    """`def blend(a, b, alpha=0.5)`: two batches to one."""
    name = b.name(b.choice(["blend", "combine", "attend", "fuse"]))
    x, y = Tensor("a", "M", True), Tensor("b", "M", True)
    with b.function(f"def {name}(a, b, alpha=0.5, flag=True):", [x, y]) as scope:
        scope.conditions = ["flag", "alpha > 0.4"]
        body(b, b.choice([0, 1, 2]), FORWARD)
        text, _ = b.expand(
            b.choice(["alpha * {M} + {M}", "{M} * {M}", "torch.tanh({M}) + b", "{M}", "a * {M}"]), 0, True
        )
        b.emit(f"return {text}")
    for template in (
        f"{name}({{M}}, {{M}})",
        f"{name}({{M}}, {{M}}, alpha=0.1)",
        f"{name}({{M}}, b={{M}}, flag=False)",
    ):
        b.scope.add_call("M", template, 2)
    if b.chance(0.2):
        b.imports.add("import functools")
        partial = b.name("soft_" + name)
        b.emit(f"\n{partial} = functools.partial({name}, alpha=0.3)", "partial")
        b.scope.add_call("M", f"{partial}({{M}}, {{M}})", 2)
    b.used("def")


def unary_helper(b: Builder) -> None:
    """One batch to another, perhaps recursive or decorated."""
    name = b.name(b.choice(["squash", "whiten", "refine", "soften"]))
    decorator = b.pick((6, ""), (1.2, "@torch.no_grad()"), (0.4, "@torch.enable_grad()"), (1, "@traced"))
    decorator = "@torch.inference_mode()" if b.risky(0.03) else decorator
    if decorator == "@traced":
        b.imports.add("import functools")
        if "traced" not in b.scope.taken:
            b.scope.taken.add("traced")
            wrapper = (
                "@functools.wraps(fn)\ndef wrapper(*args, **kwargs):\n    return fn(*args, **kwargs)\nreturn wrapper"
            )
            with b.block("def traced(fn):", "decorator"):
                b.emit(wrapper)
            b.emit("")
    if decorator:
        b.emit(decorator, f"decorator:{decorator}")
    recursive = b.chance(0.15)
    header = f"def {name}(x, depth=2):" if recursive else f"def {name}(x):"
    with b.function(header, [Tensor("x", "M", True)]) as scope:
        scope.no_grad = "no_grad" in decorator
        if recursive:
            b.emit("if depth == 0:\n    return x", "recursion")
            text, _ = b.expand(b.choice(["x * {num}", "x.tanh()", "{M}"]), 0)
            b.emit(f"return {name}({text}, depth - 1)")
        else:
            if b.chance(0.2):
                b.emit('if x.dim() != 2:\n    raise ValueError("expected a batch")', "guard")
            body(b, b.choice([0, 1, 1, 2]), FORWARD)
            b.emit(f"return {b.tensor('M', 1, graph=True)[0]}")
    b.scope.add_call("M", f"{name}({{M}})", 4, cuts="no_grad" in decorator)
    b.used("def")


def loss_helper(b: Builder) -> None:
    """`def criterion(pred, target)`, or a class with `__call__`."""
    pred, target = Tensor("pred", "M", True), Tensor("target", "M", False)
    if b.chance(0.3):
        name = b.name("Criterion")
        with b.block(f"class {name}:", "callable class"):
            with b.block("def __init__(self, weight=0.5):"):
                b.emit("self.weight = weight\nself.seen = 0")
            with b.function("def __call__(self, pred, target):", [pred, target]):
                b.emit("self.seen += 1")
                b.emit(f"return self.weight * {b.expand('({S})', 1, True)[0]}")
        b.emit(f"\ncriterion = {name}()")
    else:
        with b.function("def criterion(pred, target):", [pred, target]):
            body(b, b.choice([0, 1]), SIMPLE)
            text, _ = b.expand(b.choice(["F.mse_loss(pred, target)", "((pred - target) ** 2).mean()", "{S}"]), 1, True)
            b.emit(f"return {text}", "def")
    b.scope.taken.add("criterion")
    b.scope.add_call("S", "criterion({M}, {M}.detach())", 6)


def scorer(b: Builder) -> None:
    """Star arguments, keyword arguments, nested factories."""
    kind = b.choice(["star", "named", "factory", "table"])
    if kind == "star":
        lines = "result = 0\nfor part in parts:\n    result = result + part\nreturn result"
        with b.block("def add_all(*parts):", "*args"):
            b.emit(lines)
        b.scope.add_call("M", "add_all({M}, {M})", 3)
        b.scope.add_call("M", "add_all(*[{M}, {M}, {M}])", 2)
    elif kind == "named":
        text = b.choice(["named['x'] * named.get('gain', 1.0)", "named['x'].exp() + named.get('gain', 0.5)"])
        b.emit(f"def scaled(**named):\n    return {text}", "**kwargs")
        b.scope.add_call("M", "scaled(x={M})", 2)
        b.scope.add_call("M", "scaled(x={M}, gain={M})", 2)
        b.scope.add_call("M", "scaled(**{{'x': {M}, 'gain': {num}}})".replace("{{", "{").replace("}}", "}"), 1)
    elif kind == "factory":
        inner = b.choice(
            ["x * gain", "torch.sigmoid(x * gain)", "x + gain", "x.mul_(gain)", "torch.tanh(x).add_(gain)"]
        )
        b.emit(
            f"def make_scale(gain):\n    def apply_gain(x):\n        return {inner}\n    return apply_gain", "factory"
        )
        b.emit(f"\nrescale = make_scale({b.choice(['0.5', 'torch.tensor(0.7, requires_grad=True)', '2.0'])})")
        b.scope.add_call("M", "rescale({M})", 4)
    else:
        entries = [
            '"relu": torch.relu',
            '"soft": F.softplus',
            '"double": lambda x: x * 2',
            '"gate": lambda x: x * x.sigmoid()',
        ]
        entries.append('"fast": nn.ReLU(inplace=True)')
        b.emit(f"ACTIVATIONS = {{{', '.join(entries)}}}", "dispatch table")
        for key in ("relu", "soft", "double", "gate", "fast"):
            b.scope.add_call("M", f'ACTIVATIONS["{key}"]({{M}})', 1)


def autograd_function(b: Builder) -> None:
    """A custom torch.autograd.Function."""
    name = b.name(b.choice(["Square", "Gate", "Straight", "Scale", "Clip"]))
    if name.startswith("Scale"):
        lines = "ctx.factor = 0.5\nreturn x * 0.5"
        back = "return grad * ctx.factor"
    elif name.startswith("Clip"):
        lines = "x.clamp_(-1.0, 1.0)\nctx.mark_dirty(x)\nreturn x"
        back = "return grad"
    elif name.startswith("Square"):
        lines = "ctx.save_for_backward(x)\nreturn x * x"
        back = "(x,) = ctx.saved_tensors\nreturn 2 * x * grad"
    elif name.startswith("Gate"):
        lines = "y = torch.sigmoid(x)\nctx.save_for_backward(y)\nreturn y"
        back = "(y,) = ctx.saved_tensors\nreturn grad * y * (1 - y)"
    else:
        lines = b.choice(["return x.round()", "ctx.scale = 2.0\nreturn x.sign()", "return x.clamp(-1, 1)"])
        back = "return grad"
    with b.block(f"class {name}(torch.autograd.Function):", "autograd.Function"):
        b.emit("@staticmethod")
        with b.block("def forward(ctx, x):"):
            b.emit(lines)
        b.emit("@staticmethod")
        with b.block("def backward(ctx, grad):"):
            b.emit(back)
    b.scope.add_call("M", f"{name}.apply({{M}})", 4)


def data_class(b: Builder) -> None:
    """A dataclass that carries tensors."""
    b.imports.add("from dataclasses import dataclass")
    b.emit("@dataclass", "dataclass")
    with b.block("class Sample:"):
        b.emit("x: torch.Tensor\ny: torch.Tensor\nweight: float = 1.0")
        if b.chance(0.5):
            b.emit("def scaled(self):\n    return self.x * self.weight")
            b.scope.add_call("M", "Sample({M}, {M}, 0.5).scaled()", 1)
    b.scope.taken.add("Sample")


def generator_function(b: Builder) -> None:
    """A generator of batches."""
    text = b.choice(["torch.randn(3, 4)", "torch.ones(3, 4) * step", "base + step"])
    b.emit("def batches(count):", "generator function")
    if text.startswith("base"):
        b.emit("    base = torch.randn(3, 4)")
    b.emit(f"    for step in range(count):\n        yield {text}")
    b.scope.taken.add("batches")


def keeper(b: Builder) -> None:
    """A function with a mutable default, a function attribute, a class attribute, or a context manager."""
    kind = b.choice(["default", "attribute", "context", "class"])
    keep = "x" if b.risky(0.7) else b.choice(["x.detach()", "x.detach().clone()"])
    b.used(f"keeper:{kind}")
    if kind == "default":
        b.emit(f"def remember(x, past=[]):\n    past.append({keep})\n    return past[0] + x")
    elif kind == "attribute":
        b.emit(f"def remember(x):\n    x = x + remember.last\n    remember.last = {keep}\n    return x")
        b.emit("\nremember.last = torch.zeros(3, 4)")
    elif kind == "class":
        with b.block("class Store:"):
            b.emit("last = torch.zeros(3, 4)\n@classmethod")
            with b.block("def swap(cls, x):"):
                b.emit(f"cls.last = {keep} * 0.5 + cls.last\nreturn cls.last")
        b.scope.add_call("M", "Store.swap({M})", 5)
        return
    else:
        b.imports.add("import contextlib")
        mode = b.choice(["torch.no_grad()", "torch.enable_grad()"])
        b.emit("@contextlib.contextmanager")
        with b.block("def managed():"):
            b.emit(f"with {mode}:\n    yield")
        with b.block("def remember(x):"):
            b.emit("with managed():\n    y = x * 2\nreturn y + x")
    b.scope.add_call("M", "remember({M})", 5)


DEFINITIONS = [(3, helper), (3, unary_helper), (2, loss_helper), (2.5, scorer), (1, autograd_function), (1, data_class)]
DEFINITIONS += [(1, generator_function), (1.2, keeper)]
ONCE = {keeper, loss_helper, scorer, data_class, generator_function, autograd_function}


def definitions(b: Builder, count: int) -> None:
    """Some definitions, at most one of those whose names are fixed."""
    done = set()
    for _ in range(count):
        chosen = b.pick(*DEFINITIONS)
        if chosen in done and chosen in ONCE:
            continue
        done.add(chosen)
        chosen(b)
        b.emit("")
