"""Statements taken out, and results that were thrown away kept."""

from __future__ import annotations

import json

import pytest
from marked import Marked, on_statement_list, on_statements

from gradsense.fixes.layout import delete_lines
from gradsense.fixes.remove import assign_result, remove_statement, remove_statements
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.source import Source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a()\n«b()»  # c\nd()\n", "a()\nd()\n"),
        ("a()\n«b()»", "a()"),
        ("«b()»\n", ""),
        ("# about b\n«b()»\n", "# about b\n"),
        ("a()\n«b(\n    1,\n)»\nd()\n", "a()\nd()\n"),
        ("a(); «b()»; d()\n", "a(); d()\n"),
        ("a(); «b()»\n", "a()\n"),
        ("a(); «b()»  # c\n", "a()  # c\n"),
        ("a(); «b()»;\n", "a()\n"),
        ("«b()»; d()\n", "d()\n"),
        ("if x:\n    «b()»  # c\n", "if x:\n    pass  # c\n"),
        ("if x: «b()»\n", "if x: pass\n"),
        ("if x: «b()»; c()\n", "if x: c()\n"),
        ("if x:\n    a()\n    «b()»\ny()\n", "if x:\n    a()\ny()\n"),
        ("if x:\r\n\ta()\r\n\t«b()»\r\n", "if x:\r\n\ta()\r\n"),
        ("try:\n    «b()»\nfinally:\n    a()\n", "try:\n    pass\nfinally:\n    a()\n"),
        ("def f():\n    '''Doc.'''\n    «b()»\n", "def f():\n    '''Doc.'''\n"),
        ("«for x in y:\n    b()»\na()\n", "a()\n"),
    ],
)
def test_remove_statement(before: str, after: str) -> None:
    assert on_statements(before, remove_statement) == after


def test_all_statements_of_a_block() -> None:
    assert on_statement_list("if x:\n    «a()»\n    «b()»\n", remove_statements) == "if x:\n    pass\n"


def test_an_elif_stays() -> None:
    program = Marked("if a:\n    pass\nelif b:\n    pass\n")
    assert remove_statement(program.source, program.tree, program.tree.body[0].orelse[0]) is None


def test_a_deleted_line_does_not_join_two_cells() -> None:
    texts = ("a = 1\nb = 2", "c = 3", "d = 4\ne = 5")
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in texts]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    source = Source.from_notebook("n.ipynb", data.encode())
    lines = [apply_edits(source.text, [delete_lines(source, line, line)]).split("\n") for line in range(1, 6)]
    assert lines == [
        ["b = 2", "c = 3", "d = 4", "e = 5"],
        ["a = 1", "c = 3", "d = 4", "e = 5"],
        ["a = 1", "b = 2", "", "d = 4", "e = 5"],
        ["a = 1", "b = 2", "c = 3", "e = 5"],
        ["a = 1", "b = 2", "c = 3", "d = 4"],
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«h.detach()»  # cut\n", "h = h.detach()  # cut\n"),
        ("«self.h.detach()»\n", "self.h = self.h.detach()\n"),
        ("«x.clamp(0)»\n", "x = x.clamp(0)\n"),
        ("«x.clamp(0).detach()»\n", "x = x.clamp(0).detach()\n"),
        ("import torch\n«torch.clamp(x, 0)»\n", "import torch\nx = torch.clamp(x, 0)\n"),
        ("import torch\n«torch.relu(x).detach()»\n", "import torch\nx = torch.relu(x).detach()\n"),
        ("if a: «h.detach()»\n", "if a: h = h.detach()\n"),
        ("a(); «h.detach()»\n", "a(); h = h.detach()\n"),
        ("«h.view(\n    -1,\n)»\n", "h = h.view(\n    -1,\n)\n"),
        ("for h in hs:\n    «h.detach()»\n", None),
        ("for h in hs:\n    «h.detach()»\n    f(h)\n", "for h in hs:\n    h = h.detach()\n    f(h)\n"),
        ("«net(x).detach()»\n", None),
        ("«self.net.forward(x).detach()»\n", None),
        ("«f(x)»\n", None),
        ("«hs[0].detach()»\n", None),
        ("«h»\n", None),
    ],
)
def test_assign_result(before: str, after: str | None) -> None:
    assert on_statements(before, assign_result) == after


def test_items_of_a_container_may_get_the_result() -> None:
    assert on_statements("«hs[0].detach()»\n", assign_result, items=True) == "hs[0] = hs[0].detach()\n"
