"""Cells of scripts."""

from __future__ import annotations

import pytest

from gradsense.syntax import Source
from gradsense.syntax.cells import marked_cells


def cells(text: str) -> list[tuple[int, int, int]]:
    return [(cell.index, cell.first_line, cell.last_line) for cell in marked_cells(Source.from_text("a.py", text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ny = 2\n", []),
        ("# %%\nx = 1\n# %% second\ny = 2", [(0, 1, 2), (1, 3, 4)]),
        ("import torch\n\n#%%\nx = 1\n", [(0, 1, 2), (1, 3, 5)]),
        ("\n\n# %%\nx = 1", [(0, 3, 4)]),
        ("# In[1]:\nx\n# In [12]\ny\n# In[ ]:\n", [(0, 1, 2), (1, 3, 4), (2, 5, 6)]),
        ("# <codecell>\nx\n# %% [markdown]\n# text", [(0, 1, 2), (1, 3, 4)]),
        ('"""\n# %%\n"""\nx', []),
        ('"""\n# %%\n"""\n# %%\nx', [(0, 1, 3), (1, 4, 5)]),
        ("def f():\n    # %%\n    pass", []),
        ("x = (\n# %%\ny = 2", [(0, 1, 1), (1, 2, 3)]),
    ],
)
def test_marks_begin_cells(text: str, expected: list[tuple[int, int, int]]) -> None:
    assert cells(text) == expected


def test_a_cell_has_its_text() -> None:
    first, second = marked_cells(Source.from_text("a.py", "a\r\n# %%\r\nb\r\nc"))
    assert (first.text, second.text) == ("a", "# %%\nb\nc")


def test_notebooks_have_cells_of_their_own() -> None:
    assert marked_cells(Source.from_cells("a.ipynb", [(0, "# %%\nx = 1")])) == ()
