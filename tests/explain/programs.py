"""Programs that fail, one for each kind of error; `# CAUSE` marks the line to change, `# FAILS` the one that raises."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import copy\nimport torch\nfrom torch import nn\n\nnet = nn.Linear(3, 3)\nx = torch.randn(4, 3)\n"
OPTIMIZER = "opt = torch.optim.SGD(net.parameters(), 0.1)\n"
GROUP = (
    "import os, tempfile\nimport torch.distributed as dist\n"
    "store = os.path.join(tempfile.mkdtemp(), 'store')\n"
    "dist.init_process_group('gloo', init_method=f'file://{store}', rank=0, world_size=1)\n"
)


@dataclass(frozen=True)
class Failing:
    """A program and what is to be said of it.

    Args:
        cause: the kind of error.
        code: the rule, or None where there is none.
        text: the program after `HEAD`.
    """

    cause: str
    code: str | None
    text: str

    @property
    def program(self) -> str:
        """All of it."""
        return f"{HEAD}{self.text}"

    def line(self, mark: str) -> int | None:
        """The line that bears a mark."""
        lines = [number for number, line in enumerate(self.program.split("\n"), 1) if mark in line.partition("#")[2]]
        return lines[0] if lines else None


PROGRAMS = {
    "twice": Failing(
        "backward-twice", "GS101", "loss = net(x).pow(2).sum()\nloss.backward()\nloss.backward()  # FAILS CAUSE\n"
    ),
    "carried": Failing(
        "backward-twice",
        "GS102",
        f"{OPTIMIZER}h = torch.zeros(4, 3)\nfor _ in range(3):\n    h = torch.tanh(net(x) + h)  # CAUSE\n"
        "    opt.zero_grad()\n    h.sum().backward()  # FAILS\n    opt.step()\n",
    ),
    "before the loop": Failing(
        "backward-twice",
        "GS105",
        f"{OPTIMIZER}gate = torch.sigmoid(net.weight)  # CAUSE\nfor _ in range(3):\n    opt.zero_grad()\n"
        "    (x @ gate).sum().backward()  # FAILS\n    opt.step()\n",
    ),
    "in place": Failing(
        "modified-in-place",
        "GS201",
        "h = torch.sigmoid(net(x))\nh += 1  # CAUSE\nh.sum().backward()  # FAILS\n",
    ),
    "step": Failing(
        "modified-in-place",
        "GS205",
        f"{OPTIMIZER}out = net(torch.tanh(net(x))).sum()\n"
        "net(x).sum().backward()\nopt.step()  # CAUSE\nout.backward()  # FAILS\n",
    ),
    "module": Failing(
        "modified-in-place",
        "GS202",
        "act = nn.ReLU(inplace=True)  # CAUSE\nh = torch.sigmoid(net(x))\nact(h).sum().backward()  # FAILS\n",
    ),
    "detach_": Failing(
        "detached-in-place",
        "GS201",
        "h = torch.sigmoid(net(x))\nout = (h * h).sum()\nh.detach_()  # CAUSE\nout.backward()  # FAILS\n",
    ),
    "leaf": Failing("write-to-leaf", "GS203", "net.weight -= 0.1  # CAUSE FAILS\n"),
    "view of a leaf": Failing("write-to-leaf", "GS203", "net.weight[0] = 0.0  # CAUSE FAILS\n"),
    "unbind": Failing("write-to-view", "GS206", "a, b = net(x).chunk(2)\na += 1  # CAUSE FAILS\n"),
    "unbind under no_grad": Failing(
        "write-to-view",
        "GS206",
        "w = net(x)\nwith torch.no_grad():\n    v = w[0]\nv.mul_(2)  # CAUSE FAILS\n",
    ),
    "expanded": Failing("write-to-view", "GS206", "e = torch.zeros(1, 3).expand(4, 3)\ne += net(x)  # CAUSE FAILS\n"),
    "item": Failing(
        "no-graph",
        "GS401",
        "loss = net(x).sum()\nloss = torch.tensor(loss.item())  # CAUSE\nloss.backward()  # FAILS\n",
    ),
    "float": Failing("no-graph", "GS401", "loss = net(x).sum().item()  # CAUSE\nloss.backward()  # FAILS\n"),
    "vector": Failing("not-a-scalar", "GS403", "loss = net(x).pow(2)\nloss.backward()  # FAILS CAUSE\n"),
    "numpy": Failing("numpy-of-graph", "GS409", "net(x).numpy()  # FAILS CAUSE\n"),
    "deepcopy": Failing("deepcopy-of-graph", "GS410", "copy.deepcopy(net(x))  # FAILS CAUSE\n"),
    "unused input": Failing(
        "input-not-in-graph",
        "GS412",
        "z = x.clone().requires_grad_()\ntorch.autograd.grad(net(x).sum(), z)  # FAILS CAUSE\n",
    ),
    "input without grad": Failing(
        "input-not-in-graph",
        "GS412",
        "y = torch.ones_like(x)  # CAUSE\ntorch.autograd.grad(net(y).sum(), y)  # FAILS\n",
    ),
    "flag": Failing("requires-grad-of-non-leaf", "GS413", "h = net(x)\nh.requires_grad = False  # FAILS CAUSE\n"),
    "inference saved": Failing(
        "inference-tensor",
        "GS414",
        "with torch.inference_mode():  # CAUSE\n    t = net(x)\n(net(x) * t).sum()  # FAILS\n",
    ),
    "inference written": Failing(
        "inference-tensor",
        "GS414",
        "with torch.inference_mode():  # CAUSE\n    t = net(x)\nt.add_(1)  # FAILS\n",
    ),
    "out": Failing("out-with-grad", "GS207", "torch.mul(net(x), 2, out=torch.empty(4, 3))  # FAILS CAUSE\n"),
    "dirty": Failing(
        "dirty-not-returned",
        "GS208",
        "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        a.mul_(2)\n"
        "        ctx.mark_dirty(a)  # CAUSE\n        return a.clone()\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return 2 * g\n\nDouble.apply(net(x))  # FAILS\n",
    ),
    "grad of a product": Failing(
        "grad-is-none",
        "GS404",
        "w = torch.randn(3, requires_grad=True) * 0.1  # CAUSE\n(x @ w).sum().backward()\n"
        "w = w - 0.1 * w.grad  # FAILS\n",
    ),
    "ready twice": Failing(
        "ddp-marked-ready-twice",
        None,
        f"{GROUP}from torch.utils.checkpoint import checkpoint\n\n"
        "class Same(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(3, 3)\n    def forward(self, x):\n"
        "        for _ in range(2):\n            x = checkpoint(self.a, x, use_reentrant=True)\n        return x\n\n"
        "ddp = nn.parallel.DistributedDataParallel(Same(), find_unused_parameters=True)\n"
        "ddp(x.requires_grad_()).sum().backward()  # FAILS\n",
    ),
    "unfinished": Failing(
        "ddp-unfinished-reduction",
        None,
        f"{GROUP}class Two(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)\n    def forward(self, x):\n"
        "        return self.a(x)\n\nddp = nn.parallel.DistributedDataParallel(Two())\n"
        "for _ in range(2):\n    ddp(x).sum().backward()  # FAILS\n",
    ),
    "non-leaf": Failing(
        "non-leaf-optimized",
        "GS417",
        "torch.optim.SGD([torch.randn(3, requires_grad=True) * 2], 0.1)  # FAILS CAUSE\n",
    ),
    "memory": Failing(
        "out-of-memory",
        "GS301",
        "total = 0\nfor step in range(3):\n    loss = net(x).pow(2).mean()\n    loss.backward()\n"
        "    total += loss  # CAUSE\n    if step == 2:\n        torch.empty(10**15)  # FAILS\n",
    ),
}
NAN = Failing(
    "nan-in-backward",
    None,
    "y = net(x) * 0\nz = torch.sqrt(y)  # SAVED\nloss = (z * 0 + y).sum()\nloss.backward()  # FAILS\n",
)
