"""Files that should be notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robustness.checking import FAULT, HEAD
from robustness.conftest import Gradsense

PROGRAM = HEAD + FAULT


def cell(source: object, **more: object) -> dict[str, object]:
    """A cell of code."""
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, **more}


def notebook(*cells: object, **more: object) -> bytes:
    """A notebook of such cells; `more` goes on top."""
    whole: dict[str, object] = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({**whole, **more}).encode()


GOOD = cell(PROGRAM)
# The fault is found all the same.
READABLE = {
    "as it should be": notebook(GOOD),
    "a byte order mark": b"\xef\xbb\xbf" + notebook(GOOD),
    "lines": notebook(cell(PROGRAM.splitlines(keepends=True))),
    "CRLF": notebook(cell(PROGRAM.replace("\n", "\r\n"))),
    "an old format": json.dumps(
        {
            "worksheets": [{"cells": [{"cell_type": "code", "input": PROGRAM, "language": "python", "outputs": []}]}],
            "metadata": {},
            "nbformat": 3,
            "nbformat_minor": 0,
        }
    ).encode(),
    "a format to come": notebook(GOOD, nbformat=99),
    "a format that is none": notebook(GOOD, nbformat="4"),
    "no metadata": notebook(GOOD, metadata=None),
    "metadata that is none": notebook(GOOD, metadata={"kernelspec": 5, "language_info": []}),
    "a cell twice": notebook(GOOD, GOOD),
    "numbers that are none": notebook(GOOD)[:-1] + b', "x": NaN, "y": Infinity}',
    "a key twice": b'{"cells": [], ' + notebook(GOOD)[1:],
    "NUL bytes": notebook(cell("s = '\0'\n" + PROGRAM)),
    "half a surrogate": notebook(cell("s = '\ud800'\n" + PROGRAM)),
    "large outputs": notebook(cell(PROGRAM, outputs=[{"output_type": "stream", "text": "a" * 1_000_000}])),
    "broken cells": notebook(cell("def f(:\n x"), cell('"""no end'), cell("x = ("), GOOD, cell(")")),
    "magics": notebook(
        cell("%matplotlib inline\n!pip install torch\nx?\n??y\ny = !ls {x}\nfor i in x:\n    !echo $i\n    %timeit y"),
        *map(cell, ("%%bash\nrm -rf /", "%%html\n<torch>", "%%", "%%time\n", "!", "%", "?")),
        GOOD,
    ),
    "many cells": notebook(*[cell("loss_at_the_end = 1")] * 300, GOOD),
}
# No notebooks, or not in Python; the message says which.
REFUSED = {
    "cut off": notebook(GOOD)[:100],
    "text": b"import torch",
    "a list": b"[]",
    "null": b"null",
    "a number": b"5",
    "a string": b'"torch"',
    "no cells": b'{"nbformat": 4, "torch": 1}',
    "a source that is null": notebook(cell(None)),
    "a source that is a number": notebook(cell(5)),
    "a source of all sorts": notebook(cell(["x", None, 5])),
    "UTF-16": notebook(GOOD).decode().encode("utf-16")[::-1],
    "Latin-1": notebook(cell("s = 'X'")).replace(b"X", b"\xe9"),
    "another language": notebook(cell("using Flux # torch"), metadata={"kernelspec": {"language": "julia"}}),
    "brackets": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b', "torch": 1}',
}
# Odd, and empty at best: whatever is said, it is said in a line.
EMPTY = {
    "nothing": b"",
    "cells that are null": b'{"cells": null, "nbformat": 4}',
    "cells that are none": notebook([], None, 5, "torch"),
    "cells by name": b'{"cells": {}, "nbformat": 4}',
    "a cell without source": notebook({"cell_type": "code"}),
    "a cell without type": notebook({"source": PROGRAM}),
    "a long number": b'{"cells": [], "nbformat": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("name", READABLE)
def test_the_fault_is_found(gradsense: Gradsense, name: str) -> None:
    Path("a.ipynb").write_bytes(READABLE[name])
    code, said = gradsense("a.ipynb")
    assert code == 1
    assert "`loss_at_the_end` was walked" in said


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_notebook(gradsense: Gradsense, name: str) -> None:
    Path("a.ipynb").write_bytes(REFUSED[name])
    Path("b.py").write_text(PROGRAM)
    code, said = gradsense(".")
    assert code == 2
    assert "error: a.ipynb is" in said
    # The other files are checked.
    assert "`loss_at_the_end` was walked" in said


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_check(gradsense: Gradsense, name: str) -> None:
    Path("a.ipynb").write_bytes(EMPTY[name])
    assert gradsense("a.ipynb")[0] in (0, 2)
