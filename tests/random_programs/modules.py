"""Classes of modules that random programs define, and instances of torch's own."""

from __future__ import annotations

from dataclasses import replace

from .basic import body
from .builder import Builder, Module, Tensor
from .definitions import FORWARD

ACTIVATIONS = [
    "nn.ReLU()",
    "nn.Tanh()",
    "nn.Sigmoid()",
    "nn.GELU()",
    "nn.SiLU()",
    "nn.Softplus()",
    "nn.ELU()",
    "nn.Identity()",
]
IN_PLACE = ["nn.ReLU(inplace=True)", "nn.LeakyReLU(0.1, inplace=True)", "nn.SiLU(inplace=True)", "nn.ELU(inplace=True)"]
IN_PLACE += ["nn.Dropout(0.5, inplace=True)", "nn.Hardtanh(inplace=True)"]
CLASSES = ["Net", "Encoder", "Block", "Policy", "Head", "Mixer"]


def activation(b: Builder) -> str:
    """The constructor of an activation."""
    if b.chance(0.25):
        b.used("inplace module")
        return b.choice(IN_PLACE)
    return b.choice(ACTIVATIONS)


def sequential(b: Builder) -> tuple[str, list[str]]:
    """The constructor of a Sequential, and the indices of its linears."""
    layers: list[str] = []
    linears: list[str] = []
    for _ in range(b.choice([1, 2, 2])):
        linears.append(str(len(layers)))
        layers.append("nn.Linear(4, 4)")
        if b.chance(0.3):
            layers.append(b.choice(["nn.LayerNorm(4)", "nn.BatchNorm1d(4)", "nn.Dropout(0.5)"]))
        layers.append(activation(b))
    b.used("Sequential")
    if b.chance(0.15):
        return f"nn.Sequential(*[{', '.join(layers)}])", linears
    return f"nn.Sequential({', '.join(layers)})", linears


def plain_class(b: Builder, base: Module | None = None, inner: Module | None = None) -> Module:
    """Writes a class whose forward takes a batch and returns one (or a pair, or a dictionary)."""
    name = b.name(b.choice(CLASSES))
    kind = b.pick((6, "plain"), (1.2, "pair"), (1, "dict"), (1.5, "stateful")) if base is None else "plain"
    parts = _Parts(b, inner)
    with b.block(f"class {name}({base.text if base else 'nn.Module'}):", "class"):
        width = b.chance(0.3)
        with b.block("def __init__(self, scale=1.0, residual=True):" if width else "def __init__(self):"):
            b.emit(b.pick((5, "super().__init__()"), (1, f"super({name}, self).__init__()")))
            if width:
                b.emit("self.scale = scale\nself.residual = residual")
            for _ in range(b.choice([1, 2, 2, 3])):
                parts.add()
            if not parts.children:
                parts.linear()
            if kind == "stateful":
                _state_in_init(b)
        if parts.weights and b.chance(0.15):
            b.emit("@property", "property")
            with b.block("def size(self):"):
                b.emit(f"return self.{parts.weights[0]}.pow(2).sum()")
            parts.size = True
        _forward(b, kind, parts, base, width)
        if kind == "plain" and b.chance(0.15):
            with b.block("def loss(self, x, y):", "method"):
                b.emit(
                    b.choice(["return F.mse_loss(self(x), y)", "out = self.forward(x)\nreturn (out - y).abs().mean()"])
                )
            parts.has_loss = True
        if kind == "stateful" and b.chance(0.5):
            with b.block("def reset(self):"):
                b.emit(b.choice(["self.memory = torch.zeros(3, 4)", "self.memory = self.memory.detach()"]))
            parts.reset = True
    if base is not None:
        b.used("inheritance")
        parts.weights += base.weights
        parts.biases += base.biases
        parts.children += base.children
    arguments = ("scale=0.5", "residual=False") if width else ()
    return Module(
        name, kind, tuple(parts.weights), tuple(parts.biases), tuple(parts.children), arguments,
        reset=parts.reset, size=parts.size, loss=parts.has_loss,
    )  # fmt: skip


class _Parts:
    """The attributes that a class sets in `__init__`, and the calls its forward can make of them."""

    def __init__(self, b: Builder, inner: Module | None) -> None:
        self.b, self.inner = b, inner
        self.weights: list[str] = []
        self.biases: list[str] = []
        self.children: list[str] = []
        self.calls: list[str] = []
        self.tensors: list[Tensor] = []
        self.loops: list[str] = []
        self.size = self.reset = self.has_loss = False
        self._names: set[str] = set()

    def add(self) -> None:
        """One more attribute."""
        kinds = [(3, self.linear), (2, self.sequential), (1.5, self.listed), (1, self.named), (1.5, self.parameter)]
        kinds += [(1, self.norm), (1.3, self.act), (0.8, self.buffer), (0.5, self.embedding), (0.5, self.attention)]
        kinds += [(0.5, self.conv), (0.8 if self.inner else 0, self.nested), (0.3 if self.children else 0, self.tied)]
        self.b.pick(*kinds)()

    def _name(self, *stems: str) -> str:
        stem = self.b.choice(stems)
        name, number = stem, 2
        while name in self._names:
            name, number = f"{stem}{number}", number + 1
        self._names.add(name)
        return name

    def linear(self) -> None:
        name = self._name("fc", "proj_in", "out_proj")
        bias = self.b.chance(0.8)
        self.b.emit(f"self.{name} = nn.Linear(4, 4{'' if bias else ', bias=False'})")
        self.weights.append(f"{name}.weight")
        self.biases += [f"{name}.bias"] if bias else []
        self.children.append(name)
        self.calls.append(f"self.{name}({{M}})")
        self.tensors.append(Tensor(f"self.{name}.weight", "W", True, leaf=True, loose=False, module=True))

    def sequential(self) -> None:
        name = self._name("net", "body", "trunk")
        text, linears = sequential(self.b)
        self.b.emit(f"self.{name} = {text}")
        self.weights += [f"{name}[{i}].weight" for i in linears]
        self.children.append(name)
        self.calls.append(f"self.{name}({{M}})")

    def listed(self) -> None:
        name = self._name("layers", "blocks")
        self.b.emit(f"self.{name} = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])", "ModuleList")
        self.weights.append(f"{name}[0].weight")
        self.loops.append(name)
        self.calls += [f"self.{name}[0]({{M}})", f"self.{name}[-1]({{M}})"]

    def named(self) -> None:
        name = self._name("heads", "experts")
        self.b.emit(f'self.{name} = nn.ModuleDict({{"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)}})', "ModuleDict")
        self.weights.append(f'{name}["a"].weight')
        self.calls += [f'self.{name}["a"]({{M}})', f'self.{name}["b"]({{M}})']

    def parameter(self) -> None:
        shape = self.b.choice(["W", "V", "M"])
        name = self._name({"W": "weight", "V": "shift", "M": "anchor"}[shape])
        size = {"W": "4, 4", "V": "4", "M": "3, 4"}[shape]
        self.b.emit(f"self.{name} = nn.Parameter(torch.randn({size}))", "Parameter")
        if shape == "W":
            self.weights.append(name)
        elif shape == "V":
            self.biases.append(name)
        self.tensors.append(Tensor(f"self.{name}", shape, True, leaf=True, loose=False, module=True))

    def norm(self) -> None:
        name = self._name("norm")
        kind = self.b.choice(["nn.LayerNorm(4)", "nn.BatchNorm1d(4)"])
        self.b.emit(f"self.{name} = {kind}")
        self.children.append(name)
        self.calls.append(f"self.{name}({{M}})")

    def act(self) -> None:
        name = self._name("act")
        self.b.emit(f"self.{name} = {activation(self.b)}")
        self.calls.append(f"self.{name}({{M}})")

    def embedding(self) -> None:
        name = self._name("emb_table", "codes")
        norm = ", max_norm=1.0" if self.b.risky(0.2) else ""
        self.b.emit(f"self.{name} = nn.Embedding(4, 4{norm})", "Embedding")
        self.weights.append(f"{name}.weight")
        self.calls += [f"self.{name}({{rows}})", f"{{M}} + self.{name}({{labels}})"]

    def attention(self) -> None:
        name = self._name("attn")
        if self.b.chance(0.5):
            self.b.emit(f"self.{name} = nn.MultiheadAttention(4, 2)", "MultiheadAttention")
            self.calls.append(f"self.{name}({{M:v}}, {{M}}, {{M}})[0]")
        else:
            self.b.emit(f"self.{name} = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)", "TransformerEncoderLayer")
            self.calls.append(f"self.{name}({{M}})")

    def conv(self) -> None:
        name = self._name("conv")
        self.b.emit(f"self.{name} = nn.Conv1d(1, 1, 3, padding=1)", "Conv1d")
        self.calls.append(f"self.{name}({{M}}.unsqueeze(1)).squeeze(1)")

    def nested(self) -> None:
        assert self.inner is not None
        name = self._name("inner_net", "block")
        self.b.emit(f"self.{name} = {self.inner.text}()", "nested module")
        self.children.append(name)
        self.weights += [f"{name}.{weight}" for weight in self.inner.weights[:1]]
        self.calls.append(f"self.{name}({{M}})")

    def tied(self) -> None:
        name = self._name("tied")
        linear = next((child for child in self.children if f"{child}.weight" in self.weights), None)
        if linear is None:
            return self.linear()
        self.b.emit(
            f"self.{name} = nn.Linear(4, 4, bias=False)\nself.{name}.weight = self.{linear}.weight", "tied weights"
        )
        self.calls.append(f"self.{name}({{M}})")
        return None

    def buffer(self) -> None:
        name = self._name("running", "table")
        self.b.emit(f'self.register_buffer("{name}", torch.zeros(3, 4))', "buffer")
        self.tensors.append(Tensor(f"self.{name}", "M", False, loose=False))


def _state_in_init(b: Builder) -> None:
    b.emit(
        b.choice(["self.memory = torch.zeros(3, 4)", 'self.register_buffer("memory", torch.zeros(3, 4))']), "self.state"
    )


def _forward(b: Builder, kind: str, parts: _Parts, base: Module | None, width: bool) -> None:
    x = Tensor("x", "M", b.risky(0.3))
    with b.function("def forward(self, x):", [x], parts.tensors) as scope:
        for call in parts.calls:
            scope.add_call("M", call, 8, makes="act" not in call)
        scope.conditions = ["self.training"] + (["self.residual", "self.scale > 0.6"] if width else [])
        if base is not None:
            b.emit(b.choice(["h = super().forward(x)", f"h = {base.text}.forward(self, x)"]), "super().forward")
            b.declare("h", "M", True)
            scope.taken.add("h")
        if kind == "stateful":
            b.declare("self.memory", "M", False, loose=False)
        for name in parts.loops:
            if b.chance(0.8):
                _over_layers(b, name)
        body(b, b.choice([1, 1, 2, 3]), FORWARD)
        calls = [c for c in parts.calls if b.chance(0.7)]
        for call in calls[:3]:
            text, _ = b.expand(call, 0, True)
            target = "x" if b.chance(0.4) else b.fresh("M")
            b.emit(f"{target} = {text}")
            b.declare(target, "M", True)
        if width and b.chance(0.5):
            with b.block("if self.residual:", "branch"):
                latest = b.scope.tensors[-1].text if b.scope.tensors[-1].shape == "M" else "x"
                b.emit(b.choice([f"{latest} = {latest} + x", f"{latest} += x" if latest != "x" else "x = x + 1"]))
        _finish(b, kind, parts)


def _over_layers(b: Builder, name: str) -> None:
    loop = b.choice([f"for layer in self.{name}:", f"for index, layer in enumerate(self.{name}):"])
    with b.block(loop, "loop:modules"):
        b.emit(
            b.choice(
                [
                    "x = torch.tanh(layer(x))",
                    "x = F.relu(layer(x), inplace=True)",
                    "x = x + layer(x)",
                    "x = layer(x)\nx = F.relu(x)",
                    "y_ = layer(x)\ny_ += x\nx = y_",
                    "x = layer(x).sigmoid_()",
                ]
            )
        )
        if "enumerate" in loop and b.chance(0.5):
            b.emit("if index == 0:\n    x = x * 0.5")


def _finish(b: Builder, kind: str, parts: _Parts) -> None:
    value, graph = b.tensor("M", 0, graph=True)
    if not graph and not b.risky():
        value = f"self.{parts.children[0]}({value})"
    if kind == "pair":
        other, _ = b.tensor("M", 0)
        b.emit(f"return {value}, {other}")
    elif kind == "dict":
        other, _ = b.tensor("M", 0)
        b.emit(f'return {{"out": {value}, "aux": {other}}}')
    elif kind == "stateful":
        b.emit(f"new = {value}")
        careful = ["self.memory = 0.9 * self.memory + 0.1 * new.detach()", "self.memory = new.detach()"]
        careful += ["with torch.no_grad():\n    self.memory.mul_(0.9).add_(new)", "self.memory.copy_(new.detach())"]
        careless = [
            "self.memory = new",
            "self.memory = self.memory + new",
            "self.memory += new",
            "self.memory[0] = new[0]",
        ]
        careless += ["self.memory = 0.5 * self.memory + torch.tanh(new)"]
        b.emit(b.choice(careless if b.risky() else careful))
        b.emit(b.choice(["return new + self.memory", "return new", "return new * self.memory"]))
    else:
        b.emit(f"return {value}")


def instantiate(b: Builder, source: Module, name: str) -> Module:
    """Writes the construction of a module and lets expressions call it."""
    argument = b.choice(source.arguments) if source.arguments and b.chance(0.5) else ""
    b.emit(f"{name} = {source.text}({argument})")
    return register(b, replace(source, text=name))


def register(b: Builder, module: Module) -> Module:
    """Puts a module that has been made in scope."""
    b.scope.modules.append(module)
    b.scope.taken.add(module.text.split(".")[0])
    calls = {
        "plain": [("M", "{m}({M})", 16)],
        "stateful": [("M", "{m}({M})", 14)],
        "pair": [("M", "{m}({M})[0]", 8), ("M", "sum({m}({M}))", 5)],
        "dict": [("M", '{m}({M})["out"]', 10), ("M", '{m}({M})["aux"]', 3)],
    }
    for shape, template, weight in calls.get(module.kind, []):
        b.scope.add_call(shape, template.replace("{m}", module.text), weight, makes=True)
    for child in module.children[:2]:
        b.scope.add_call("M", f"{module.text}.{child}({{M}})", 1, makes=True)
    for path in module.weights[:2]:
        b.declare(module.path(path), "W", True, leaf=True, loose=False, module=True)
    for path in module.biases[:1]:
        b.declare(module.path(path), "V", True, leaf=True, loose=False, module=True)
    if module.loss:
        b.scope.add_call("S", f"{module.text}.loss({{M}}, {{M}}.detach())", 3, makes=True)
    if module.size:
        b.scope.add_call("S", f"{module.text}.size", 2, makes=True)
    return module


def ready_made(b: Builder, name: str) -> Module:
    """An instance of torch's own modules."""
    if b.chance(0.5):
        text, linears = sequential(b)
        b.emit(f"{name} = {text}")
        return register(b, Module(name, "plain", tuple(f"[{i}].weight" for i in linears)))
    b.emit(f"{name} = nn.Linear(4, 4)")
    return register(b, Module(name, "plain", ("weight",), ("bias",)))
