"""Files of many functions that hang on what is at the module level, which an edit up there changes or does not."""

from __future__ import annotations

from pairs.format import MAIN, Program

SCRIPT = """\
import functools
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

RETAIN = False
DETACH = True
LOSSES = {"square": lambda a, b: ((a - b) ** 2).mean(), "exp": lambda a, b: torch.exp(a).sum()}
SEEN = []
ALIAS = SEEN


def choose(name):
    return LOSSES[name]


def settings():
    keep = True
    return {"retain": keep, "rounds": 3}


@dataclass
class Config:
    retain: bool = True
    inplace: bool = False
    width: int = 4
    names: list = field(default_factory=list)


class Base(nn.Module):
    inplace = False

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.state = None

    def shared(self, x):
        y = torch.exp(x)
        if self.inplace:
            y += 1
        return y


class Net(Base):
    scale = 2

    def forward(self, x):
        return self.shared(self.inner(x)) * self.scale

    def carried(self, x):
        self.state = self.inner(x) if self.state is None else self.inner(x + self.state)
        if DETACH:
            self.state = self.state.detach()
        return self.state


def wrapped(function):
    @functools.wraps(function)
    def inner(*args):
        with torch.no_grad():
            return function(*args)

    return inner


config = Config()
options = settings()
criterion = choose("square")
size = config.width


@wrapped
def evaluate(net, x):
    return net(x)


def twice(x=torch.ones(3, requires_grad=True)):
    loss = torch.exp(x).sum()
    loss.backward(retain_graph=RETAIN)
    loss.backward()


def by_config():
    x = torch.ones(3, requires_grad=True)
    loss = torch.exp(x).sum()
    loss.backward(retain_graph=config.retain)
    loss.backward()


def by_options():
    x = torch.ones(3, requires_grad=True)
    loss = torch.exp(x).sum()
    loss.backward(retain_graph=options["retain"])
    loss.backward()


def by_class(again: bool):
    x = torch.ones(4, requires_grad=True)
    y = torch.sigmoid(x)
    if Config().inplace:
        y.mul_(2)
    y.sum().backward()


def chosen():
    a = torch.ones(3, requires_grad=True)
    loss = criterion(a, torch.zeros(3))
    loss.backward()
    if again:
        loss.backward()


def collects(loader):
    net = Net()
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        SEEN.append(loss)


def carries(loader):
    net = Net()
    for x in loader:
        net.carried(x).sum().backward()


again = False


def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(options["rounds"]):
        optimizer.zero_grad()
        loss = net(torch.randn(2, size)).sum()
        loss.backward(retain_graph=RETAIN)
        optimizer.step()
    evaluate(net, torch.randn(2, 4)).sum()


if __name__ == "__main__":
    main()
"""
TRAINS = """\
import torch
from torch import nn

FLAGS = [True, False]
KEEP, DETACH = FLAGS


class Cell(nn.Module):
    keep = KEEP

    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x, h):
        return torch.tanh(self.layer(x) + h)


def start(width):
    return torch.zeros(width)


def cut(h):
    return h.detach() if DETACH else h


def step(cell, x, h):
    h = cell(x, cut(h))
    h.sum().backward(retain_graph=KEEP)
    return h


def probe(x):
    y = torch.exp(x)
    y += 1 if KEEP else 0
    y.sum().backward()


def remembers(cell, xs):
    total = 0
    for x in xs:
        total += cell(x, start(4)).sum()
    return total


cell = Cell()
h = start(4)
for x in torch.randn(8, 2, 4):
    h = step(cell, x, h)
"""
TABLES = """\
import torch

TABLE = {}


def register(function):
    TABLE[function.__name__] = function
    return function


@register
def half(x):
    return x / 2


@register
def double(x):
    y = x.exp()
    y *= 2
    return y


class Options:
    exact = True
    rounds = 2


class More(Options):
    exact = False


def use(name, x):
    return TABLE[name](x)


def first():
    x = torch.ones(2, requires_grad=True)
    use("half", x).sum().backward()


def second():
    x = torch.ones(2, requires_grad=True)
    use("double", x).sum().backward()


def third():
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    for _ in range(Options.rounds):
        loss.backward(retain_graph=More.exact)


def fourth(x):
    global LAST
    LAST = x
    return LAST
"""


def wide() -> list[Program]:
    """Those files, as programs of one file."""
    texts = {"script": SCRIPT, "trains": TRAINS, "tables": TABLES}
    return [Program(f"wide::{name}", "clean", {MAIN: text}, (), 1) for name, text in texts.items()]
