"""Whether a name is read again after a statement."""

from __future__ import annotations

import pytest
from marked import Marked

from gradsense.fixes.tree import read_after


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("«f(x)»\n", False),
        ("«f(x)»\ng(x)\n", True),
        ("«f(x)»\nx = 1\ng(x)\n", False),
        ("«f(x)»\nx = x + 1\n", True),
        ("«f(x)»\nx += 1\n", True),
        ("«f(x)»\ndel x\n", False),
        ("«f(x)»\nif a:\n    x = 1\ng(x)\n", True),
        ("g(x)\n«f(x)»\n", False),
        ("if a:\n    «f(x)»\ng(x)\n", True),
        ("if a:\n    «f(x)»\nelse:\n    g(x)\n", False),
        ("if a:\n    «f(x)»\n    x = 1\ng(x)\n", False),
        ("for a in b:\n    «f(x)»\n", True),
        ("for x in b:\n    «f(x)»\n", False),
        ("for x in b:\n    «f(x)»\ng(x)\n", True),
        ("for a in b:\n    x = g(a)\n    «f(x)»\n", False),
        ("for a in b:\n    x = g(x)\n    «f(x)»\n", True),
        ("for a in b:\n    if a:\n        x = 1\n    «f(x)»\n", True),
        ("while g(x):\n    x = 1\n    «f(x)»\n", True),
        ("for a in b:\n    x = 1\n    «f(x)»\nelse:\n    g(x)\n", True),
        ("def h(x):\n    «f(x)»\n    return 1\ng(x)\n", False),
        ("def h(x):\n    «f(x)»\n    return x\n", True),
        ("def h(x):\n    if a:\n        «f(x)»\n        return 1\n    return x\n", False),
        ("def h(x):\n    «f(x)»\n    k = lambda: x\n", True),
        ("def h(x):\n    k = lambda x: x\n    «f(x)»\n", False),
        ("def h():\n    global x\n    «f(x)»\n", True),
        ("«f(x)»\ndef h():\n    return x\n", True),
        ("class C:\n    «f(x)»\n", True),
        ("try:\n    «f(x)»\nfinally:\n    g(x)\n", True),
        ("try:\n    «f(x)»\nexcept E:\n    pass\ng(1)\n", False),
        ("try:\n    pass\nexcept E:\n    «f(x)»\nelse:\n    g(1)\ng(x)\n", True),
        ("with a:\n    «f(x)»\ng(x)\n", True),
        ("match a:\n    case 1:\n        «f(x)»\ng(x)\n", True),
        ("match a:\n    case 1:\n        «f(x)»\n    case _:\n        g(x)\n", False),
    ],
)
def test_read_after(program: str, answer: bool) -> None:
    marked = Marked(program)
    assert read_after(marked.tree, marked.statements()[0], "x") is answer
