"""A `with` taken away."""

from __future__ import annotations

import pytest
from marked import Marked, on_statements

from gradsense.fixes.unwrap import unwrap_with


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«with a():\n    b()  # c\n    d()»\ne()\n", "b()  # c\nd()\ne()\n"),
        ("if x:\n\t«with a():\n\t\tb()»\n", "if x:\n\tb()\n"),
        ("if x:\r\n  «with a():\r\n    b()»", "if x:\r\n  b()"),
        ("«with a():\n    # why\n\n    b()»\n", "# why\n\nb()\n"),
        ("«with a():\n    x = '''\n    text\n'''»\n", "x = '''\n    text\n'''\n"),
        (
            "«with a():\n    for x in y:\n        b(\n            1,\n        )»\n",
            "for x in y:\n    b(\n        1,\n    )\n",
        ),
        ("«with a(): b()»\n", "b()\n"),
        ("«with a(): b(); c()»\n", "b(); c()\n"),
        ("«with a() as x:\n    b(x)»\n", None),
        ("«with a(), b():\n    c()»\n", None),
    ],
)
def test_unwrap_with(before: str, after: str | None) -> None:
    assert on_statements(before, unwrap_with) == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ("«with a(), b() as x:\n    c()»\n", 0, "with b() as x:\n    c()\n"),
        ("«with a() as x, b():\n    c()»\n", 1, "with a() as x:\n    c()\n"),
        ("«with a(), b(), c():\n    d()»\n", 1, "with a(), c():\n    d()\n"),
        ("«with a() as x, b():\n    c()»\n", 0, None),
        ("«with a():\n    c()»\n", 0, "c()\n"),
    ],
)
def test_one_context_of_several(before: str, index: int, after: str | None) -> None:
    program = Marked(before)
    statement = program.statements()[0]
    assert program.after(unwrap_with(program.source, program.tree, statement, statement.items[index])) == after
