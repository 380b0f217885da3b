"""Large packages: what a program does not use of them costs it nothing, and hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradsense.machine.definitions import exported_names, only_defines
from gradsense.syntax import Source
from gradsense.syntax.parse import parse
from robustness.checking import FAULT, HEAD
from robustness.conftest import Gradsense
from robustness.test_files import FOUND, write

LEFT_OUT = "not all of this file was followed"


def test_files_of_a_package_that_all_import_each_other(gradsense: Gradsense) -> None:
    """Importing the package runs all of them: far more than one check may do."""
    work = "table = {}\n" + "".join(f"table['{i}'] = [{i}, {i}] * 2 + [str({i})]\n" for i in range(400))
    files = {
        f"m{i}": HEAD + "from . import register\nfrom ._build import build\n" + work + "@register\n"
        f"class Net{i}(nn.Module):\n    def forward(self, x):\n        return build(x)\n"
        for i in range(80)
    }
    files["__init__"] = "from ._register import nets, register\n" + "".join(f"from .m{i} import *\n" for i in range(80))
    files["_register"] = "nets = {}\ndef register(cls):\n    nets[cls.__name__] = cls\n    return cls\n"
    files["_build"] = "from . import nets\ndef build(x):\n    return x * 2\n"
    files["net"] = HEAD + "from ._build import build\nfrom .m3 import Net3\n" + FAULT
    Path("zoo").mkdir()
    for name, text in files.items():
        Path("zoo", f"{name}.py").write_text(text, encoding="utf-8")
    _, said = gradsense("zoo/net.py")
    assert FOUND in said
    assert LEFT_OUT not in said


def test_many_functions_that_make_one_network_each(gradsense: Gradsense) -> None:
    """They are all of one kind; what comes behind them is looked at."""
    layers = "".join(f"        self.l{i} = nn.Sequential(nn.Linear(width, width), nn.ReLU())\n" for i in range(200))
    net = (
        f"\nclass Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n{layers}"
        "\ndef _make(name, **options):\n    return Net(**options)\n"
    )
    makers = "".join(
        f"\ndef net_{i}(pretrained=False, **options):\n    sizes = dict(width={8 + i})\n"
        f"    net = _make('net_{i}', **sizes)\n    return net\n"
        for i in range(600)
    )
    fault = "\n\ndef zz_train():\n" + "".join(f"    {line}\n" for line in FAULT.strip().splitlines())
    write(train=HEAD + net + makers + fault)
    _, said = gradsense("train.py")
    assert FOUND in said
    assert LEFT_OUT not in said


def test_one_of_many_alike_that_does_more(gradsense: Gradsense) -> None:
    """Only where nothing happened in the first ones the others need not be run."""
    head = HEAD + "def step(net, x):\n    loss = net(x).sum()\n    loss.backward()\n    return loss\n"
    alike = "".join(
        f"def run_{i}(x):\n    net = nn.Linear(4, {i + 1})\n    loss = step(net, x)\n    loss.backward()\n"
        for i in range(5)
    )
    write(train=head + alike)
    assert gradsense("train.py")[1].count(" error GS101") == 5


def test_one_of_many_alike_that_does_something_of_its_own(gradsense: Gradsense) -> None:
    """It calls what they call, and then walks a graph twice: by methods, by what it made, by a function of torch."""
    head = HEAD + "from torch.nn import functional as F\ndef make(n):\n    return nn.Linear(4, n)\n"
    alike = "".join(f"def make_{i}():\n    net = make({i + 1})\n    return net\n" for i in range(5))
    walks = (
        "    loss.backward()\n" * 2,
        "    torch.autograd.backward(loss)\n" * 2,
        "    walk = loss.backward\n    walk()\n    walk()\n",
    )
    losses = ("net(x).sum()", "F.mse_loss(net(x), x)", "net(x).sum()")
    for i, (loss, walk) in enumerate(zip(losses, walks, strict=True)):
        alike += f"def train_{i}(x):\n    net = make(4)\n    loss = {loss}\n{walk}"
    write(train=head + alike)
    assert gradsense("train.py")[1].count(" error GS101") == 3


DEFINES = (
    "import os\nfrom torch import nn\n",
    "__all__ = ['a']\n__all__ += ['b']\n",
    "import torch\n@torch.no_grad()\ndef f(x): return x.add_(1)\n",
    "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: list = field(default_factory=list)\n",
    "import logging\nlog = logging.getLogger(__name__)\nlogging.basicConfig()\n",
    "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
    "def _cfg(**k): return {'a': 1, **k}\ntable = {'x': _cfg(a=2), 'y': _cfg()}\n",
    "class C:\n    @property\n    def a(self): return 1\n    @a.setter\n    def a(self, v): pass\nc = C()\n",
    "try:\n    import xformers\nexcept ImportError:\n    xformers = None\n",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .other import Thing\n",
)
DOES_MORE = (
    "import torch\nx = torch.randn(3, requires_grad=True)\n",
    "from torch import nn\nnet = nn.Linear(3, 3)\n",
    "from torch import nn\nclass Net(nn.Module): pass\nnet = Net()\n",
    "import torch\ndef main():\n    x = torch.ones(3)\nmain()\n",
    "for x in range(3): pass\n",
    "nets = {}\nnets['a'] = 1\n",
    "import torch\ntorch.set_grad_enabled(False)\n",
    "import torch\ntorch.autograd.set_detect_anomaly(True)\n",
    "register = []\n@register.append\ndef f(): pass\n",
    "with open('x') as f: pass\n",
    "exec('x = 1')\n",
)


def _reads(text: str) -> bool:
    return only_defines(parse(Source.from_text("a.py", text)).tree, lambda module, level: level == 0)


@pytest.mark.parametrize("text", DEFINES)
def test_files_that_only_define(text: str) -> None:
    assert _reads(text)


@pytest.mark.parametrize("text", DOES_MORE)
def test_files_that_do_more(text: str) -> None:
    assert not _reads(text)


def test_what_the_workspace_decorates_may_do_anything() -> None:
    text = "from registry import register\n@register\ndef f(): pass\n"
    assert not only_defines(parse(Source.from_text("a.py", text)).tree, lambda module, level: module != "registry")


def test_a_file_is_read_as_what_it_imports_is_where_it_lies(gradsense: Gradsense) -> None:
    """Its registry lies beside it, where the program that imports it has no file of that name."""
    files = {
        "tools/registry": "NETS = {}\ndef register(cls):\n    NETS['net'] = cls\n    return cls\n",
        "tools/nets": HEAD + "from registry import register\n@register\nclass Net(nn.Module):\n"
        "    def forward(self, x):\n        y = x.exp()\n        y += 1\n        return y\n",
        "train": HEAD + "from tools import nets\nfrom tools.registry import NETS\nw = nn.Linear(4, 4)\n"
        "NETS['net']()(w(torch.randn(2, 4))).sum().backward()\n",
    }
    Path("tools").mkdir()
    for name, text in files.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    assert "nets.py:8:9: error: " in gradsense("--output-format", "concise", "train.py")[1]


def test_names_that_are_handed_round_in_a_circle(gradsense: Gradsense) -> None:
    Path("a.py").write_text("from b import thing\nfrom b import net\n", encoding="utf-8")
    Path("b.py").write_text("from a import thing\nfrom a import *\n", encoding="utf-8")
    Path("c.py").write_text("import c as d\nfrom c import d as e\nfrom d import f\n", encoding="utf-8")
    text = HEAD + "from a import thing, net\nfrom b import *\nfrom c import d, e, f, g\nprint(thing, net, d, e, f, g)\n"
    Path("train.py").write_text(text + FAULT, encoding="utf-8")
    _, said = gradsense("train.py")
    assert FOUND in said
    assert LEFT_OUT not in said


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "import os.path\nfrom a import b as c\ndef f(): pass\nclass _C: pass\nx = 1\n",
            {"os": False, "c": False, "f": True, "x": True},
        ),
        ("__all__ = ['f', '_g']\ndef f(): pass\ndef _g(): pass\nx = 1\n", {"f": True, "_g": True}),
        ("from .other import *\nx = 1\n", None),
        ("from .other import *\n__all__ = ['x']\n", {"x": False}),
        ("__all__ = other.__all__\n", None),
    ],
)
def test_names_that_a_star_imports(text: str, names: dict[str, bool] | None) -> None:
    assert exported_names(parse(Source.from_text("a.py", text)).tree) == names
