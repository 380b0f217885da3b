"""Statements put under a `with`, functions under a decorator, torch imported where it is not."""

from __future__ import annotations

import pytest
from marked import Marked, on_statement_list

from gradsense.fixes.wrap import decorate, wrap_in

TORCH = "import torch\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«w -= lr * g»  # step\n", "with torch.no_grad():\n    w -= lr * g  # step\n"),
        ("«w -= g»", "with torch.no_grad():\n    w -= g"),
        ("if a:\n  «w -= g»\n  b()\n", "if a:\n  with torch.no_grad():\n    w -= g\n  b()\n"),
        ("if a:\n\t«w -= g»\n", "if a:\n\twith torch.no_grad():\n\t\tw -= g\n"),
        ("if a:\r\n    «w -= g»\r\n", "if a:\r\n    with torch.no_grad():\r\n        w -= g\r\n"),
        (
            "«w -= g»\n\n# the bias\n«b -= g»\nc()\n",
            "with torch.no_grad():\n    w -= g\n\n    # the bias\n    b -= g\nc()\n",
        ),
        (
            "«for p in ps:  # all\n    p.add_(\n        g,  # gradient\n    )»\n    # done\n\n# next\nc()\n",
            "with torch.no_grad():\n    for p in ps:  # all\n        p.add_(\n            g,  # gradient\n        )\n"
            "        # done\n\n# next\nc()\n",
        ),
        (
            "«f('''\n  text\n''', 1)»\n",
            "with torch.no_grad():\n    f('''\n  text\n''', 1)\n",
        ),
        ("«f(f'''\n  {x}\n''', 1)»\n", "with torch.no_grad():\n    f(f'''\n  {x}\n''', 1)\n"),
        ("«x = a + \\\n    b»\n", "with torch.no_grad():\n    x = a + \\\n        b\n"),
        ("«x = 'a\\\n  b'»\n", "with torch.no_grad():\n    x = 'a\\\n  b'\n"),
        ("if a: «w -= g»\n", "if a:\n    with torch.no_grad():\n        w -= g\n"),
        ("if a: «w -= g»  # c\n", "if a:\n    with torch.no_grad():\n        w -= g  # c\n"),
        ("if a: b(); «w -= g»\n", "if a:\n    b()\n    with torch.no_grad():\n        w -= g\n"),
        ("if a: b(); «w -= g»; c(); d()\n",
         "if a:\n    b()\n    with torch.no_grad():\n        w -= g\n    c(); d()\n"),
        ("b(); «w -= g»\n", "b()\nwith torch.no_grad():\n    w -= g\n"),
        ("«w -= g»; b()\n", "with torch.no_grad():\n    w -= g\nb()\n"),
        ("«w -= g»; «v -= g»\n", "with torch.no_grad():\n    w -= g\n    v -= g\n"),
        ("a(); «w -= g»; «v -= g»; b()\n", "a()\nwith torch.no_grad():\n    w -= g\n    v -= g\nb()\n"),
        ("«w -= g»\n«v -= g»; b()\n", "with torch.no_grad():\n    w -= g\n    v -= g\nb()\n"),
        ("a(); «w -= g»\n«v -= g»\n", "a()\nwith torch.no_grad():\n    w -= g\n    v -= g\n"),
        ("for a in b:\n    if a: \\\n        «w -= g»\n",
         "for a in b:\n    if a:\n        with torch.no_grad():\n            w -= g\n"),
        ("«w -= g»\na()\n«v -= g»\n", None),
        ("def f():\n    «yield w»\n", None),
        ("async def f():\n    «await w»\n", None),
    ],
)  # fmt: skip
def test_wrap_in(before: str, after: str | None) -> None:
    assert on_statement_list(TORCH + before, wrap_in) == (after and TORCH + after)


def test_an_elif_cannot_be_wrapped() -> None:
    program = Marked("import torch\nif a:\n    pass\nelif b:\n    w -= g\n")
    assert wrap_in(program.source, program.tree, program.tree.body[1].orelse) is None


def test_a_function_within_the_statements_may_yield() -> None:
    before = "import torch\n«def f():\n    yield 1»\n"
    assert on_statement_list(before, wrap_in) == "import torch\nwith torch.no_grad():\n    def f():\n        yield 1\n"


@pytest.mark.parametrize(
    ("imports", "header"),
    [
        ("import torch\n", "with torch.no_grad():"),
        ("import torch as th\n", "with th.no_grad():"),
        ("from torch import no_grad\n", "with no_grad():"),
        ("from torch import no_grad as ng\n", "with ng():"),
        ("import torch.nn\n", "with torch.no_grad():"),
        ("try:\n    import torch\nexcept ImportError:\n    pass\n", "with torch.no_grad():"),
    ],
)
def test_torch_is_spelt_as_the_file_spells_it(imports: str, header: str) -> None:
    assert on_statement_list(f"{imports}«w -= g»\n", wrap_in) == f"{imports}{header}\n    w -= g\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch.nn as nn\n«w -= g»\n",
         "import torch\nimport torch.nn as nn\nwith torch.no_grad():\n    w -= g\n"),
        ("from torch import nn\n\n«w -= g»\n",
         "import torch\nfrom torch import nn\n\nwith torch.no_grad():\n    w -= g\n"),
        ("import os  # c\n«w -= g»\n", "import os  # c\nimport torch\nwith torch.no_grad():\n    w -= g\n"),
        ("'''Doc.'''\n«w -= g»\n", "'''Doc.'''\n\nimport torch\nwith torch.no_grad():\n    w -= g\n"),
        ("from __future__ import annotations\n«w -= g»\n",
         "from __future__ import annotations\nimport torch\nwith torch.no_grad():\n    w -= g\n"),
        ("«w -= g»\n", "import torch\nwith torch.no_grad():\n    w -= g\n"),
        ("def f():\n    import torch\ndef g():\n    «w -= g»\n",
         "import torch\ndef f():\n    import torch\ndef g():\n    with torch.no_grad():\n        w -= g\n"),
        ("def g():\n    import torch\n    «w -= g»\n",
         "def g():\n    import torch\n    with torch.no_grad():\n        w -= g\n"),
    ],
)  # fmt: skip
def test_torch_is_imported_where_it_is_not(before: str, after: str) -> None:
    assert on_statement_list(before, wrap_in) == after


def test_other_contexts() -> None:
    before = "import torch as th\n«w -= g»\n"
    assert on_statement_list(before, wrap_in, "torch.inference_mode") == (
        "import torch as th\nwith th.inference_mode():\n    w -= g\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\ndef f():\n    pass\n", "import torch\n@torch.no_grad()\ndef f():\n    pass\n"),
        ("import torch as th\n@one\ndef f(): pass\n", "import torch as th\n@one\n@th.no_grad()\ndef f(): pass\n"),
        ("def f(): pass\n", "import torch\n@torch.no_grad()\ndef f(): pass\n"),
        ("import torch\nasync def f(): pass\n", None),
    ],
)
def test_decorate(before: str, after: str | None) -> None:
    program = Marked(before)
    assert program.after(decorate(program.source, program.tree, program.tree.body[-1])) == after


def test_a_method_is_decorated_below_what_must_stay_outermost() -> None:
    program = Marked("import torch\nclass C:\n\t@staticmethod\n\tdef f(x): pass\n")
    function = program.tree.body[1].body[0]
    assert program.after(decorate(program.source, program.tree, function)) == (
        "import torch\nclass C:\n\t@staticmethod\n\t@torch.no_grad()\n\tdef f(x): pass\n"
    )
