"""What is found out about names of other packages, from their source alone."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gradsense.machine.outside import Kind, Known
from gradsense.types.answering import Answering

NETS = """\
import os
import torch
from torch import nn
from torch.nn import Module as M
from .layers import Block

open(os.environ["MARK"], "w").close()


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)


class Deep(Net):
    pass


class Blocks(M):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(3) for _ in range(4)])


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = 1e-6


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        for p in self.parameters():
            p.requires_grad = False


class Sgd(torch.optim.Optimizer):
    pass


class Plain:
    pass


def build(kind: str) -> "Net":
    return KINDS[kind]()


def untold(kind):
    return Net(kind)


def count(model) -> int:
    return sum(p.numel() for p in model.parameters())


def loss() -> Loss:
    return Loss()
"""
LAYERS = """\
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(width)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, of which importing would leave a mark."""
    monkeypatch.setenv("MARK", str(tmp_path / "imported"))
    folder = tmp_path / "site-packages"
    (folder / "nets").mkdir(parents=True)
    (folder / "nets" / "__init__.py").write_text(NETS)
    (folder / "nets" / "layers.py").write_text(LAYERS)
    return folder


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nets.Net", Kind.NETWORK),
        ("nets.Deep", Kind.NETWORK),
        ("nets.Blocks", Kind.NETWORK),
        ("nets.layers.Block", Kind.NETWORK),
        ("nets.Block", Kind.NETWORK),
        ("nets.build", Kind.NETWORK),
        ("nets.Sgd", Kind.OPTIMIZER),
        ("nets.count", Kind.NUMBER),
        # A module without parameters, or one that freezes them, makes no graph by itself.
        ("nets.Loss", Kind.OTHER),
        ("nets.loss", Kind.OTHER),
        ("nets.Frozen", Kind.OTHER),
        ("nets.Plain", Kind.OTHER),
        ("nets.untold", Kind.OTHER),
        ("nets.missing", Kind.OTHER),
        ("missing.Net", Kind.OTHER),
        ("nets", Kind.OTHER),
    ],
)
def test_names(name: str, kind: Kind, site: Path, tmp_path: Path) -> None:
    assert Answering(str(tmp_path), [str(site)]).about(name) == Known(kind)


def test_no_file_is_left_behind_where_it_is_killed(site: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    program = (
        "import os\n"
        "from gradsense.types.answering import Answering\n"
        f"kind = Answering({str(tmp_path)!r}, [{str(site)!r}]).about('nets.Net').kind\n"
        "print(kind.name, flush=True)\n"
        "os._exit(9)\n"
    )
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(own))
    environment = {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == "NETWORK\n", done.stderr
    assert list(own.rglob("*")) == []


def test_nothing_is_imported_or_started(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("subprocess.Popen.__init__", refuse)
    (site / "native.cpython-311-x86_64-linux-gnu.so").write_bytes(b"no library")
    loaded = set(sys.modules)
    answering = Answering(str(tmp_path), [str(site), *filter(None, sys.path)])
    for name in ("nets.Net", "nets.layers", "native.Net", "native", "torch.nn.Linear", "torch._C.Node", "numpy.zeros"):
        answering.about(name)
    assert not (tmp_path / "imported").exists()
    assert not {"nets", "native", "torch"} & (set(sys.modules) - loaded)


def test_code_of_the_persons_own_elsewhere_is_named(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "mine.py").write_text("x = 1\n")
    library = sysconfig.get_path("stdlib")
    answering = Answering(str(tmp_path / "work"), [str(checkout), library], [library])
    assert answering.about("mine") == Known(Kind.SOURCE, str(checkout / "mine.py"))
    assert answering.about("json") == Known(Kind.OTHER)


def test_broken_source_is_no_answer(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "broken.py").write_text("class Net(nn.Module:\n  def\n")
    (site / "circle.py").write_text("class A(B): pass\nclass B(A): pass\nfrom circle import C as C\n")
    answering = Answering(str(tmp_path), [str(site)])
    assert answering.about("broken.Net").kind is Kind.OTHER
    assert answering.about("circle.A").kind is Kind.OTHER
    assert answering.about("circle.C").kind is Kind.OTHER
