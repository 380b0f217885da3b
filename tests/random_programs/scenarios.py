"""Whole programs: the set-up, the loop, and what follows it."""

from __future__ import annotations

from dataclasses import replace

from .basic import SIMPLE, body
from .builder import Builder, Module, Optimizer, Tensor
from .fragments import GENERAL
from .modules import instantiate, plain_class, ready_made, register
from .optimizers import freeze, make_optimizer, module_hook, read_gradients, spend
from .patterns import counter, global_state
from .recurrence import Recurrence
from .steps import PLACES, places, target_update, train_step, two_players
from .walks import fill_grad, forward_loss, walk


def classes(b: Builder) -> list[Module]:
    """The classes of modules of this program."""
    made: list[Module] = []
    for _ in range(b.choice([0, 1, 1, 1, 2])):
        bases = [m for m in made if m.kind == "plain"]
        derive = bool(bases) and b.chance(0.5)
        made.append(plain_class(b, bases[0] if derive else None, bases[0] if bases and not derive else None))
        b.emit("")
    return made


def make_models(b: Builder, made: list[Module], count: int) -> list[Module]:
    """Instances, of the program's classes first."""
    names = b.choice([["model", "other"], ["net", "aux"], ["actor", "critic"], ["gen", "disc"], ["encoder", "decoder"]])
    models = []
    for index in range(count):
        if made and b.chance(0.8):
            models.append(instantiate(b, made[min(index, len(made) - 1)], names[index]))
        else:
            models.append(ready_made(b, names[index]))
    return models


def data(b: Builder, zeros: bool = True) -> None:
    """The tensors that a program starts with; zeros may be among them, unless gradients must not vanish."""
    b.emit("x = torch.randn(3, 4)")
    b.declare("x", "M", False)
    b.emit("target = torch.randn(3, 4)")
    b.declare("target", "M", False, loose=False)
    b.scope.taken |= {"x", "target"}
    if b.chance(0.3):
        b.emit("seq = torch.randn(2, 3, 4)")
        b.declare("seq", "Q", False)
        b.scope.taken.add("seq")
    if b.chance(0.2) and zeros:
        b.emit("buf = torch.zeros(3, 4)")
        b.declare("buf", "M", False)
    if b.chance(0.4):
        shape, size = b.choice([("W", "4, 4"), ("V", "4"), ("M", "3, 4")])
        b.emit(f"param = torch.randn({size}, requires_grad=True)", "leaf")
        b.declare("param", shape, True, leaf=True, loose=False)
    if b.risky(0.4):
        name = b.fresh("M")
        b.emit(f"{name} = {b.tensor('M', 1, graph=True)[0]}", "graph before loop")
        b.declare(name, "M", True)


def loop(b: Builder, step_body: str | None, kept: list[str], recurrence: Recurrence | None) -> None:
    """The training loop. With a text, the step is that call."""
    if b.chance(0.2):
        outer = b.block("for epoch in range(2):", "loop:epochs")
        with outer:
            b.scope.conditions.append("epoch > 0")
            _loop(b, step_body, kept, recurrence, "2")
            b.scope.conditions.pop()
        return
    _loop(b, step_body, kept, recurrence, b.choice(["2", "3", "3", "4"]))


def _loop(b: Builder, step_body: str | None, kept: list[str], recurrence: Recurrence | None, count: str) -> None:
    headers = [
        (5, f"for step in range({count}):"),
        (2, f"for step, x in enumerate(torch.randn({count}, 3, 4)):"),
        (1.5, f"for step, (x, target) in enumerate(zip(torch.randn({count}, 3, 4), torch.randn({count}, 3, 4))):"),
        (1, f"for step, (x, target) in enumerate([(torch.randn(3, 4), torch.randn(3, 4)) for _ in range({count})]):"),
        (1, f"step = 0\nwhile step < {count}:"),
    ]
    if "batches" in b.scope.taken:
        headers.append((6, f"for step, x in enumerate(batches({count})):"))
    if "Sample" in b.scope.taken:
        headers.append(
            (6, f"for step, item in enumerate([Sample(torch.randn(3, 4), torch.randn(3, 4)) for _ in range({count})]):")
        )
    header = b.pick(*headers)
    if "while" in header:
        first, header = header.split("\n")
        b.emit(first)
    for tensor in b.scope.tensors:
        if tensor.graph and not tensor.leaf:
            tensor.spent = True
    before, b.scope.outside = b.scope.outside, {t.text for t in b.scope.tensors}
    fed = [t for t in b.scope.tensors if t.text in ("x", "target")]
    for tensor in fed:
        tensor.loose = tensor.loose and "x" not in header
    with b.block(header, "loop:train"):
        b.scope.conditions.append(b.choice(["step % 2 == 0", "step > 0", "step == 1"]))
        if "Sample" in header:
            b.declare("item.x", "M", False, loose=False)
            b.declare("item.y", "M", False, loose=False)
        if step_body is not None:
            b.emit(step_body)
        elif b.chance(0.25):
            two_players(b, kept)
        else:
            train_step(b, kept, recurrence)
        if b.chance(0.1):
            target_update(b)
        if b.chance(0.1) and "while" not in header:
            with b.block(f"if {b.scope.conditions[-1]}:"):
                b.emit(b.choice(["continue", "break", "pass"]))
        if "while" in header:
            b.emit("step += 1")
        b.scope.conditions.pop()
    b.scope.outside = before


def after(b: Builder, kept: list[str]) -> None:
    """What follows the loop."""
    if "history" in kept and b.chance(0.5):
        b.emit(b.choice(["print(sum(history) / max(len(history), 1))", "print(len(history))"]))
        if b.risky(0.2):
            b.emit("if history:\n    torch.stack([torch.as_tensor(v) for v in history]).sum().backward()", "walk:late")
    if "running" in kept and b.risky(0.3):
        b.emit("if torch.is_tensor(running):\n    running.backward()", "walk:late")
    elif "running" in kept and b.chance(0.4):
        b.emit("print(float(running))")
    if b.chance(0.15) and b.scope.modules:
        module = b.scope.modules[0]
        if module.kind in ("plain", "stateful"):
            b.emit(f"{module.text}.eval()")
            with b.block("with torch.no_grad():", "evaluation"):
                b.emit(f"print({module.text}(x).mean().item())")


def optimizers_for(b: Builder, models: list[Module], extra: list[Module]) -> None:
    """One optimizer, or one for each model."""
    leaves = [t for t in b.scope.tensors if t.text == "param"]
    if not models and not extra and not leaves:
        return
    if len(models) == 2 and not extra and b.chance(0.7):
        make_optimizer(b, "opt_a", [models[0]], leaves if b.chance(0.5) else [])
        make_optimizer(b, "opt_b", [models[1]], [])
    else:
        make_optimizer(b, b.choice(["opt", "optimizer"]), [*models, *extra], leaves if b.chance(0.7) else [])


def scripted(b: Builder, made: list[Module]) -> None:
    """Everything at module level, or in one function `main`."""
    models = make_models(b, made, b.choice([1, 1, 2]))
    data(b)
    recurrence = Recurrence(b) if b.chance(0.45) else None
    if recurrence:
        recurrence.setup()
    optimizers_for(b, models, [recurrence.module()] if recurrence else [])
    seen = b.chance(0.25) and module_hook(b, models[0])
    if b.chance(0.1):
        freeze(b)
    if b.chance(0.12):
        counter(b) if b.indent or b.chance(0.4) else global_state(b)
    kept = [*places(b), *(["seen"] if seen else [])]
    loop(b, None, kept, recurrence)
    after(b, kept)


def in_function(b: Builder, made: list[Module]) -> None:
    """`def main(): ...` and its call."""
    with b.function("def main():", []) as scope:
        scope.walks = True
        scripted(b, made)
    b.emit("\nmain()" if b.chance(0.5) else '\nif __name__ == "__main__":\n    main()', "main function")


def stepper(b: Builder, made: list[Module]) -> None:
    """`def train_step(model, opt, x, target)` called from a loop."""
    count = b.choice([1, 2])
    kept = [p for p in ("history", "log") if b.chance(0.4)]
    for place in kept:
        b.emit(PLACES[place])
    sources = [
        made[min(i, len(made) - 1)] if made else Module("nn.Linear", "plain", ("weight",), ("bias",))
        for i in range(count)
    ]
    names = ["model", "other"][:count]
    ways = b.choice(["parameters", "globals"])
    x, target = Tensor("x", "M", False), Tensor("target", "M", False, loose=False)
    header = (
        f"def train_step({', '.join(names)}, opt, x, target):" if ways == "parameters" else "def train_step(x, target):"
    )
    with b.function(header, [x, target]) as scope:
        scope.conditions = ["x.dim() == 2"]
        scope.taken |= set(PLACES)
        for name, source in zip(names, sources, strict=True):
            register(b, replace(source, text=name))
        scope.optimizers.append(Optimizer("opt", list(scope.modules)))
        train_step(b, kept)
        returned = [t for t in scope.tensors if t.graph and t.text.isidentifier() and t.shape in "SM"] or [x]
        back = b.choice(returned).text
        b.emit(f"return {back}" if b.risky() else f"return {back}.detach()")
    b.emit("", "train_step function")
    for name, source in zip(names, sources, strict=True):
        constructor = "nn.Linear(4, 4)" if source.text == "nn.Linear" else f"{source.text}()"
        b.emit(f"{name} = {constructor}")
    params = " + ".join(f"list({n}.parameters())" for n in names)
    b.emit(
        f"opt = torch.optim.{b.choice(['SGD({}, lr=0.1)', 'Adam({})', 'AdamW({}, lr=0.01)']).format(params)}",
        "optimizer",
    )
    b.emit("x = torch.randn(3, 4)\ntarget = torch.randn(3, 4)")
    b.scope.tensors += [x, target]
    arguments = f"{', '.join(names)}, opt, x, target" if ways == "parameters" else "x, target"
    call = b.choice(
        [f"result = train_step({arguments})", f"train_step({arguments})", f"results.append(train_step({arguments}))"]
    )
    if "results" in call:
        b.emit("results = []")
    loop(b, call, kept, None)


def trainer(b: Builder, made: list[Module]) -> None:
    """A class with the model, the optimizer and the state as attributes."""
    kept = [p for p in ("self.losses", "self.total") if b.chance(0.4)]
    recurrence = Recurrence(b, "self.") if b.chance(0.4) else None
    source = made[-1] if made else Module("nn.Linear", "plain", ("weight",), ("bias",))
    optimizer = b.choice(["SGD({}, lr=0.1)", "Adam({})", "RMSprop({})"])
    with b.block("class Trainer:", "trainer class"):
        with b.block("def __init__(self, model):"):
            b.emit("self.model = model\nself.losses = []\nself.total = 0.0\nself.steps = 0")
            params = "model.parameters()"
            if recurrence:
                recurrence.setup()
                params = "list(model.parameters()) + list(self.cell.parameters())"
            b.emit(f"self.opt = torch.optim.{optimizer.format(params)}")
        x, target = Tensor("x", "M", False), Tensor("target", "M", False, loose=False)
        with b.function("def step(self, x, target=None):", [x]) as scope:
            b.emit("if target is None:\n    target = torch.zeros(3, 4)")
            scope.tensors.append(target)
            scope.taken |= {"target"}
            scope.conditions = ["self.steps > 0", "self.steps % 2 == 0"]
            register(b, replace(source, text="self.model"))
            scope.optimizers.append(Optimizer("self.opt", list(scope.modules)))
            train_step(b, [p for p in kept if p == "self.total"], recurrence)
            b.emit("self.steps += 1")
            losses = [t.text for t in scope.tensors if t.shape == "S" and t.graph and t.text.isidentifier()]
            if losses and "self.losses" in kept:
                keep = losses[-1] if b.risky(0.7) else f"float({losses[-1]})"
                b.emit(f"self.losses.append({keep})", "keep:list")
            b.emit(f"return {losses[-1] if losses and b.risky() else 'self.steps'}")
        with b.block("def fit(self, count):"), b.block("for _ in range(count):", "loop:train"):
            b.emit(b.choice(["self.step(torch.randn(3, 4))", "self.step(torch.randn(3, 4), torch.ones(3, 4))"]))
    constructor = "nn.Linear(4, 4)" if source.text == "nn.Linear" else f"{source.text}()"
    b.emit(f"\nmodel = {constructor}\ntrainer = Trainer(model)")
    b.emit(
        b.choice(
            [
                "trainer.fit(3)",
                "for step in range(3):\n    trainer.step(torch.randn(3, 4))",
                "Trainer(model).fit(count=2)",
            ]
        )
    )


def straight(b: Builder, made: list[Module]) -> None:
    """No training loop: some lines, a backward, some more."""
    make_models(b, made, 1)
    data(b)
    body(b, b.choice([2, 3, 4]), GENERAL)
    walk(b, forward_loss(b))
    if b.chance(0.6):
        body(b, b.choice([1, 2]), GENERAL)
        if b.chance(0.3):
            fill_grad(b)
        walk(b, forward_loss(b))
    if b.chance(0.3):
        read_gradients(b)


def lbfgs(b: Builder, made: list[Module]) -> None:
    """An optimizer that takes a closure."""
    make_models(b, made, 1)
    data(b, zeros=False)  # LBFGS stops at once where the gradient is zero
    model = b.scope.modules[0]
    optimizer = b.choice(["LBFGS({}, max_iter=3)", "SGD({}, lr=0.1)"]).format(f"{model.text}.parameters()")
    b.emit(f"opt = torch.optim.{optimizer}", "optimizer:" + optimizer.split("(")[0])
    outer = "for step in range(2):"
    for tensor in b.scope.tensors:
        tensor.spent = tensor.graph and not tensor.leaf
    before, b.scope.outside = b.scope.outside, {t.text for t in b.scope.tensors}
    with b.block(outer, "loop:train"):
        if b.risky(0.3):
            text, _ = b.tensor("M", 1, graph=True)
            b.emit(f"shared = {text}")
            b.declare("shared", "M", True)
        with b.block("def closure():", "closure:optimizer"):
            b.emit("opt.zero_grad()")
            kept = {t.text: t for t in b.scope.tensors}
            for tensor in b.scope.tensors:
                tensor.loose = False
            body(b, b.choice([0, 1]), SIMPLE)
            loss = forward_loss(b)
            b.emit(f"{loss}.backward()\nreturn {loss}")
            for text, tensor in kept.items():
                tensor.loose = text not in ("target",)
        b.emit(b.choice(["opt.step(closure)", "value = opt.step(closure)\nprint(float(value))"]))
        spend(b)
    b.scope.outside = before


SCENARIOS = [(5, scripted), (4, in_function), (3, stepper), (3, trainer), (3, straight), (0.7, lbfgs)]
