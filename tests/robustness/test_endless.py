"""Programs that never end, or that call themselves for ever."""

from __future__ import annotations

import pytest

from robustness.checking import check, finds_the_fault, lines, sections

# Each of these ways of a class to call itself.
SPECIAL = """\
class A:
    def __add__(self, other): return self + other
    def __mul__(self, other): return self * self * other
    def __eq__(self, other): return self == other
    def __len__(self): return len(self)
    def __bool__(self): return bool(self)
    def __getitem__(self, index): return self[index]
    def __setitem__(self, index, value): self[index] = value
    def __call__(self, *values): return self(*values)
    def __iter__(self): return iter(self)
    def __next__(self): return next(self)
    def __contains__(self, value): return value in self
    def __enter__(self):
        with self: return self
    def __exit__(self, *values):
        with self: pass
    def __getattr__(self, name): return getattr(self, name) + self.other
    @property
    def own(self): return self.own + self.own
    @own.setter
    def own(self, value): self.own = value
a = A()
"""
USES = (
    "a + 1", "a * 2", "a == a", "len(a)", "bool(a)", "a[0]", "a[0] = 1", "a(1)", "list(a)", "for b in a: pass",
    "next(a)", "1 in a", "with a as b: pass", "a.missing", "a.own", "a.own = 1", "[*a]", "sum(a)", "a += a",
    "if a: pass",
)  # fmt: skip
ENDLESS = sections("""
## two functions
def f(x): return g(x)
def g(x): return f(x) + f(x)
f(torch.ones(2, requires_grad=True))

## a method
class A:
    def f(self, x): return self.f(x) + self.f(x)
A().f(torch.ones(1))

## a constructor
class A:
    def __init__(self): self.one, self.other = A(), A()
A()

## a module
class A(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a = A(n - 1)
        self.b = A(n - 1)
    def forward(self, x): return self.a(self.b(x))
A(20)(torch.ones(1))

## a forward
class A(nn.Module):
    def forward(self, x): return self(x) + self.forward(x)
A()(torch.ones(1))

## lambdas
(lambda f: f(f))(lambda f: f(f))
f = lambda *a: f(*a)
f(1)

## a fixed point
Y = lambda f: (lambda x: x(x))(lambda x: f(lambda *a: x(x)(*a)))
Y(lambda r: lambda n: n * r(n - 1))(9)

## numbers
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(200)

## a cached function
import functools
@functools.cache
def f(n): return f(n - 1) + f(n - 2)
f(1000)
f([])

## a decorator
def d(f): return d
@d
@d
def g(): pass
g(g)(g)
@d
class A: pass
def e(f): return e(f)
@e
def h(): pass

## a metaclass
class M(type):
    def __call__(cls, *a): return cls(*a)
    def __new__(m, *a): return m(*a)
class A(metaclass=M): pass
A()

## a generator
def g():
    for x in g(): yield x
for a in g(): pass
list(g())

## generators
def g(n):
    while True:
        yield n
        yield from g(n + 1)
for a in g(0):
    for b in g(1): torch.ones(1)
[a for a in g(0) for b in g(1)]
next(g(0))
sum(g(1))

## a context manager
import contextlib
@contextlib.contextmanager
def c():
    with c(): yield
with c(): pass

## hooks
m = nn.Linear(1, 1)
m.register_forward_hook(lambda *a: m(torch.ones(1)))
m(torch.ones(1))
t = torch.ones(1, requires_grad=True)
t.register_hook(lambda g: t.sum().backward())

## a closure
m = nn.Linear(1, 1)
o = torch.optim.LBFGS(m.parameters())
def closure():
    o.step(closure)
    return m(torch.ones(1)).sum()
o.step(closure)

## an autograd function
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return F.apply(x)
    @staticmethod
    def backward(ctx, g): return F.apply(g)
F.apply(torch.ones(1, requires_grad=True))

## a dataclass
from dataclasses import dataclass, field
@dataclass
class A:
    a: 'A' = field(default_factory=lambda: A())
    b: int = field(default_factory=A)
A()

## annotations
class A:
    def __init__(self, a: 'A', b: 'A'): self.a = a
    def m(self, a: 'A'): return a.a.a
def f(a: f, b: 'f', c: '1/0', d: '((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((') -> f: pass

## bases
class A(A): pass
class B(C): pass
class C(B): pass
class D(nn.Module, D, D): pass
B()
D()(1)
class E: pass
class F(E): pass
E = F
E.e = F
E().e.e.e

## lists that hold themselves
import copy
y = []
y.append(y)
d = {}
d['d'] = d
y += [(y, d)]
y.extend(y)
copy.deepcopy(y)
copy.deepcopy(d)
str(y)
y == y
y in y
max(y)
sorted(y)
torch.cat(y)
nn.Sequential(*y)
for i in range(9):
    z = torch.ones(1, requires_grad=True) * 2

## modules that hold themselves
import copy
m = nn.Linear(1, 1)
m.m = m
s = nn.Sequential(m)
s.append(s)
m.s = s
list(s.parameters())
m.train()
m.apply(print)
m.zero_grad()
copy.deepcopy(s)
torch.optim.SGD(s.parameters(), 1)
s(torch.ones(1))

## objects that hold themselves
import copy
class A: pass
a = A()
a.a, a.b = a, [a]
for i in range(9):
    a.t = torch.ones(1) * 2
    a.c = copy.deepcopy(a)

## loops that go on
while True:
    try:
        while True:
            try: raise A
            finally: continue
    except A: continue
    finally: break

## torch's own
torch.Tensor.backward = lambda self: self.backward()
nn.Module.forward = nn.Module.__call__
nn.Linear.forward = lambda self, x: self(x)
torch.add = torch.add
len = lambda x: len(x)
len([1])
torch = torch.torch
import torch

## coroutines
import asyncio
async def f(x):
    async with x as y:
        async for z in y: await f(z)
    return [i async for i in f(x) if await i]
asyncio.run(f(1))
await f(1)

## patterns
match x:
    case {'a': [1, *rest], **others}: pass
    case nn.Linear(weight=w): pass
    case (1 | 2) as z if z > 1: pass
    case [a, [c, *_]]: pass
    case _: pass

## newer syntax
type A[T] = list[T]
def f[T: int](x: T) -> T: return f(x)
class B[T, *Ts, **P]: pass
f(1)

## scopes
def f():
    global y, z
    nonlocal w
    y = f
    del y
    return y
f()
self.x = 1
super().x
del a, b[0], c.d

## a trainer
import pytorch_lightning as pl
class L(pl.LightningModule):
    def training_step(self, b, i): return self.training_step(b, i)
    def configure_optimizers(self): return self.configure_optimizers()
pl.Trainer().fit(L())
""")


ENDLESS["many functions"] = lines(60, "def f{i}(x): return f{next}(f{next}(x))") + "f0(1)\n"
ENDLESS["a machine of states"] = "s = 0\nwhile True:\n" + lines(97, "    if s == {i}: s = (s * 7 + 1) % 97")


@pytest.mark.parametrize("name", ENDLESS)
def test_programs_that_never_end(name: str) -> None:
    report = check(ENDLESS[name])
    assert finds_the_fault(report) or any("not all of this file" in note.message for note in report.notes)


@pytest.mark.parametrize("use", USES)
def test_special_methods_that_call_themselves(use: str) -> None:
    assert finds_the_fault(check(f"{SPECIAL}{use}\n"))
