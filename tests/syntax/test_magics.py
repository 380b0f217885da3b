"""IPython's magics in cells: what is blanked, what is kept, and that all keeps its place."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.syntax.programs import names_in_place

from gradsense.syntax import Source, parse
from gradsense.syntax.edits import split_lines
from gradsense.syntax.magics import mask
from gradsense.syntax.source import UNKNOWN


def left(text: str) -> str:
    """What is read of a cell; fails if anything was a problem or moved."""
    parsed = parse(Source.from_cells("a.ipynb", [(0, text)]))
    assert parsed.problems == ()
    assert not names_in_place(parsed)
    assert [len(line) for line in parsed.source.lines] == [len(line) for line in split_lines(text)]
    return ast.unparse(parsed.tree)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline\nx = 1", "x = 1"),
        ("!pip install torch\nx = 1", "x = 1"),
        ("!echo \"it's (\nx = 1", "x = 1"),
        ("!pip install a \\\n  b '\nx = 1", "x = 1"),
        ("!!ls\nx = 1", "x = 1"),
        ("pip install torch\nx = 1", "x = 1"),
        ("?loss\nx = 1", "x = 1"),
        ("loss.backward?\nx = 1", "x = 1"),
        ("loss.backward??  # why\nx = 1", "x = 1"),
        ("%timeit?\nx = 1", "x = 1"),
        ("%cd ..\n%load_ext autoreload\nx = 1", "x = 1"),
        ("%%time\nx = 1", "x = 1"),
        ("\n%%capture out\n%%time\nx = 1", "x = 1"),
        ("%%timeit -n 10 y = 2\nx = 1", "x = 1"),
        ("%%bash\nfor x in (; do", ""),
        ("%%writefile a.py\nx = 1", ""),
        ("%%html\n<b>x</b>", ""),
        ("%% time\nx = 1", "x = 1"),
        ("%%\nx = 1", ""),
        ("for i in y:\n    !ls\nx = 1", "for i in y:\n    pass\nx = 1"),
        ("if y:\n    z = 1\n    %time f(z)\nx = 1", "if y:\n    z = 1\n    f(z)\nx = 1"),
        ("%time loss.backward()", "loss.backward()"),
        ("%time x = f(y)  # how long\nz = x", "x = f(y)\nz = x"),
        ("%timeit -n 10 -r3 -q f(x)", "f(x)"),
        ("%prun -l 20 -s cumulative f(x)", "f(x)"),
        ("%memit -r 3 f(x)", "f(x)"),
        ("%time f(x, \\\n  y)\nz = 1", "f(x, y)\nz = 1"),
        ("%time f(\nx = 1", "x = 1"),
        ("%time\nx = 1", "x = 1"),
        ("files = !ls *.py\nx = files", f"files = {UNKNOWN}\nx = files"),
        ("a.b[0] = !ls\nx = 1", f"a.b[0] = {UNKNOWN}\nx = 1"),
        ("for i in y:\n    out = %system ls\nx = 1", f"for i in y:\n    out = {UNKNOWN}\nx = 1"),
        ("é = '🔥'; y = é\n%time f(é)", "é = '🔥'\ny = é\nf(é)"),
    ],
)
def test_cells(cell: str, expected: str) -> None:
    assert left(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "x = '''\n%time\n!ls\n'''",
        "x = (7\n% y)",
        "x = a \\\n% y",
        "x = y != z",
        "x = '?'",
        "x = f('%d' % y)",
        "assert x, 'why?'",
        "x = 1  # why?",
        "pip = 1\nconda = pip",
    ],
)
def test_what_only_looks_like_a_magic_stays(cell: str) -> None:
    assert mask(cell).text == cell
    assert left(cell) == ast.unparse(ast.parse(cell))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_stay(newline: str) -> None:
    cell = newline.join(["!ls", "x = 1", "%time y = x", ""])
    assert mask(cell).text == newline.join(["   ", "x = 1", "      y = x", ""])


@given(st.text(alphabet="%!?x=(\"'\\\n\r \t#timebash-1", max_size=60))
def test_masking_keeps_every_column(cell: str) -> None:
    masked = mask(cell)
    before, after = split_lines(cell), split_lines(masked.text)
    assert [len(line) for line in before] == [len(line) for line in after]
    parse(Source.from_cells("a.ipynb", [(0, cell), (1, cell)]))
