"""Programs whose values double with every statement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from robustness.checking import check, finds_the_fault

GROWING = {
    "lists added": "y = [1]\n" + "y = y + y\n" * 200,
    "lists extended": "y = [1]\n" + "y.extend(y)\n" * 200,
    "lists added to": "y = [1]\n" + "y += y\n" * 200,
    "lists multiplied": "y = [1]\n" + "y = y * 8\n" * 200 + "y = [0] * 10**12\n",
    "lists unpacked": "y = [1]\n" + "y = [*y, *y]\n" * 200,
    "slices set": "y = [1]\n" + "y[0:0] = y\n" * 200,
    "tuples added": "y = (1,)\n" + "y = y + y\n" * 200,
    "tuples multiplied": "y = (1,)\n" + "y = 8 * y\n" * 200,
    "tuples in tuples": "y = (torch.ones(1),)\n"
    + "y = (y, y)\n" * 60
    + "for a in y: pass\nf(y)\nf(*y)\ntorch.cat(y)\n",
    "wide tuples in tuples": "y = (torch.ones(1),) * 300\n" + "y = (y,) * 300\n" * 8 + "f(y)\nlist(zip(*y))\n",
    "lists in lists": "y = []\n" + "y = [y, y]\n" * 60 + "import copy\ncopy.deepcopy(y)\nf(y)\ntorch.stack(y)\n",
    "dictionaries in dictionaries": "y = {}\n" + "y = {1: y, 2: y}\n" * 60 + "import copy\ncopy.deepcopy(y)\nf(y)\n",
    "texts added": "y = 'a'\n" + "y = y + y\n" * 200,
    "texts formatted": "y = 'a'\n" + "y = f'{y}{y}'\n" * 200,
    "texts joined": "y = 'ab'\n" + "y = y.join([y, y])\n" * 200,
    "texts replaced": "y = 'aa'\n" + "y = y.replace('a', y)\n" * 200,
    "texts filled in": "y = 'a'\n"
    + "y = '{}{}'.format(y, y)\n" * 200
    + "y = '{:>999999999}'.format(y)\ny = 'a'.ljust(9**12)\n",
    "texts multiplied": "y = 'a' * 10**12\ny = b'a' * 10**12\ny = bytes(10**12)\n",
    "numbers squared": "y = 10\n" + "y = y * y\n" * 200 + "str(y)\ny % 7\ny / 3\nround(y, -10**9)\n",
    "numbers to a power": "y = 2 ** (2 ** 62)\ny = 9 ** 9 ** 9 ** 9\ny = 1 << 10**10\ny = pow(9, 9**9)\n",
    "numbers of a library": "import math\nmath.factorial(10**9)\n"
    "math.comb(10**9, 10**8)\nmath.perm(10**7)\nmath.exp(10**9)\n",
    "ranges": "y = range(10**30)\nlen(y)\n'a' in range(10**12)\nlist(range(10**12))\ntorch.ones(10**30, 10**30)\n",
    "products": "import itertools\nfor a in itertools.product(range(10**9), repeat=9): pass\nlist(itertools.count())\n"
    "[a for a in itertools.permutations(range(100))]\nlist(itertools.repeat(1, 10**12))\n",
    "arguments": "def f(*a): return f(*a, *a)\nf(1)\ndef g(*a): return a + a\ny = (1,)\n" + "y = g(*y)\n" * 60,
    "partial functions": "import functools\np = print\n" + "p = functools.partial(p, 1)\n" * 500 + "p()\n",
    "functions of functions": "f = lambda x: x\n" + "f = (lambda g: lambda x: g(g(x)))(f)\n" * 60 + "f(1)\n",
    "iterators": "y = [1]\n"
    + "y = zip(y, y)\n" * 60
    + "list(y)\n"
    + "y = enumerate(y)\n" * 1000
    + "for a in y: pass\n",
    "modules in modules": "m = nn.Linear(1, 1)\n"
    + "m = nn.Sequential(m, m)\n" * 25
    + "m(torch.ones(1))\nlist(m.parameters())\n",
    "parts of tensors": "y = torch.ones(10**9, 2, requires_grad=True)\ny.unbind()\ny.split(1)\ny.chunk(10**9)\n"
    "list(y)\n"
    "nn.LSTM(1, 1, num_layers=10**9)\n[nn.Linear(1, 1) for _ in range(10**9)]\ntorch.cat([y] * 10**7)\n",
    "bases": "class A0: pass\n"
    + "".join(f"class A{i}(A{i - 1}, A{i - 1}): pass\n" for i in range(1, 60))
    + "A59().y\n",
    "graphs": "y = torch.ones(1, requires_grad=True)\n" + "y = y + y\n" * 2000 + "y.sum().backward()\n",
    "walks": "y = torch.ones(1, requires_grad=True)\n" + "y = y + 1\ny.sum().backward(retain_graph=True)\n" * 400,
    "findings": "m = nn.Linear(1, 1)\n" + "h = m(torch.ones(1)).sigmoid()\nh.add_(1)\nh.detach()\n" * 150,
}
# What reaches the bound on work of a path, and does not come to the end.
CUT = {"functions of functions", "iterators", "modules in modules", "tuples in tuples", "wide tuples in tuples"}


@pytest.mark.parametrize("name", GROWING)
def test_growing_values(name: str) -> None:
    report = check(GROWING[name])
    assert finds_the_fault(report) or (name in CUT and report.notes)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound a process's memory")
def test_memory_is_bounded() -> None:
    """All of them in one process that may have no more than two gigabytes."""
    program = (
        "import json, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from robustness.checking import check\n"
        "for text in json.load(sys.stdin): check(text)\n"
    )
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(list(GROWING.values())),
        cwd=tests,
        text=True,
        capture_output=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0
