"""Damaged programs, and calls with arguments that no one would give."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gradsense.check import check_source
from gradsense.machine.library import builtin, stdlib
from gradsense.machine.ops.table import table
from gradsense.syntax import Source
from robustness.checking import LIMITS, check, finds_the_fault
from robustness.mutants import mutants

MUTANTS = 400
BATCHES = 8
STATEMENTS = 1_600
SETUP = """\
import collections, contextlib, copy, functools, math
import torch.nn.functional as F
x = torch.ones(2, 3, requires_grad=True)
y = x * 2
l = [1, x, 'a']
d = {'a': x, 1: 2}
m = nn.Linear(3, 3)
o = torch.optim.SGD(m.parameters(), 0.1)
class A:
    def __init__(self, a=None): self.a = a
    def f(self, *a, **k): return a
def g(*p, **k):
    yield p
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *p):
        ctx.save_for_backward(*p)
        return p[0]
"""
VALUES = (
    "", "None", "1", "-1", "0", "1.5", "True", "...", "'a'", "''", "[]", "()", "{}", "{1}", "b'a'", "1j", "x", "y",
    "l", "d", "m", "o", "A", "A(x)", "g", "g()", "Fn", "torch", "print", "lambda *p, **k: p", "unseen", "range(3)",
    "range(10**9)", "slice(1)", "(1, 2)", "[x, y]", "[[x], [y]]", "x.shape", "x[0]", "10**30", "float('nan')",
    "m.parameters()", "enumerate(l)", "zip(l, l)", "map(print, l)", "torch.float32", "-99", "[None]", "x.grad",
    "o.param_groups", "iter(l)", "type(x)", "super()", "x > 0", "x.T", "torch.no_grad()", "nn.Parameter(y)",
    "(x for _ in l)", "d.items()", "2, 0", "*l", "**d", "*x", "dim=x", "out=y",
)  # fmt: skip
METHODS = (
    "backward", "detach_", "to", "requires_grad_", "copy_", "fill_", "add_", "index_add_", "masked_fill_", "view",
    "permute", "chunk", "split", "unbind", "expand", "sum", "topk", "set_", "index_select", "clamp_",
    "register_hook", "append", "extend", "insert", "pop", "update", "setdefault", "get", "items", "join", "format",
    "replace", "send", "parameters", "apply", "train", "zero_grad", "step", "load_state_dict", "register_buffer",
    "forward", "__enter__", "__getitem__", "f", "sample",
)  # fmt: skip
OPERATORS = ("+", "*", "@", "%", "-", "/", "**", "in", "<", "==", "is", "and", "|", ">>")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_programs(batch: int) -> None:
    for name, text in mutants(MUTANTS // BATCHES, seed=batch):
        report = check_source(Source.from_text("train.py", text), limits=LIMITS)
        assert report.failures == [], name
        assert all(isinstance(finding.fixes, tuple) for finding in report.findings), name


@pytest.mark.parametrize("seed", range(4))
def test_odd_arguments(seed: int) -> None:
    """No statement of ours fails, and none that torch would refuse ends the path."""
    statements = list(_statements(STATEMENTS // 4, random.Random(seed)))
    for first in range(0, len(statements), 20):
        tries = "".join(f"try:\n    {each}\nexcept RuntimeError: pass\n" for each in statements[first : first + 20])
        report = check(SETUP + tries + "torch.set_grad_enabled(True)\n")
        assert finds_the_fault(report), tries


def _statements(count: int, dice: random.Random) -> Iterator[str]:
    functions = [*builtin._FUNCTIONS, *stdlib._FUNCTIONS, "eval", "exec", "super", "Fn.apply", "A", "m", "l.append"]
    functions += [f"torch.{name}" for name in table().names() if not name.startswith("Tensor.")]
    functions += [f"torch.{name}" for name in ("autograd.grad", "autograd.backward", "utils.checkpoint.checkpoint")]
    functions.remove("exit")
    functions.remove("quit")
    single = [value for value in VALUES if value and value[0] != "*" and "=" not in value and value != "2, 0"]
    for _ in range(count):
        one, other = dice.choice(single), dice.choice(single)
        yield dice.choice(
            (
                f"r = {dice.choice(functions)}({dice.choice(VALUES)})",
                f"r = {dice.choice(functions)}({one}, {other})",
                f"r = ({one}).{dice.choice(METHODS)}({dice.choice(VALUES)})",
                f"r = y.{dice.choice(METHODS)}({one}, {other})",
                f"r = ({one}) {dice.choice(OPERATORS)} ({other})",
                f"r = {one}; r += {other}; r.a = {other}; r[{other}] = {one}",
                f"r = ({one})[{other}]; del r[{one}], r.a",
                f"r = ({one})(*{other}, **{one})",
                f"p, *q = {one}; p, (q, r) = {other}",
                f"for p in {one}: ({other}).q = p",
                f"with {one} as p, {other}: p = ({other},)",
                f"r = {{{one}: {other}}}; r = [p for p in {one} if {other}]",
                f"r = y[{one}, {other}]; y.data[{one}] = {other}",
            )
        )
