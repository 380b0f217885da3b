"""Files that are no Python, or not as Python wants them, and folders that lead nowhere."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from robustness.checking import FAULT, HEAD
from robustness.conftest import Gradsense

PROGRAM = HEAD + FAULT
FOUND = "raises: `loss_at_the_end` was walked"
# Bytes of a file in which the fault is found all the same, by what is odd about it.
READABLE = {
    "UTF-16": PROGRAM.encode("utf-16"),
    "UTF-16 without a mark": PROGRAM.encode("utf-16-le"),
    "UTF-32": PROGRAM.encode("utf-32"),
    "a byte order mark": b"\xef\xbb\xbf" + PROGRAM.encode(),
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf\n" + PROGRAM.encode(),
    "Latin-1": b"# \xe9\n" + PROGRAM.encode(),
    "Latin-1, declared": b"# coding: latin-1\ns = '\xe9'\n" + PROGRAM.encode(),
    "Shift JIS": "# coding: shift_jis\ns = '日本'\n".encode("shift_jis") + PROGRAM.encode(),
    "an unknown encoding": b"# coding: nosuch\n" + PROGRAM.encode(),
    "an encoding that is none": b"# coding: rot13\n" + PROGRAM.encode(),
    "a wrong encoding": "# coding: ascii\ns = 'é😀'\n".encode() + PROGRAM.encode(),
    "half a surrogate": PROGRAM.encode() + b"# \xed\xa0\x80\n",
    "CRLF": PROGRAM.replace("\n", "\r\n").encode(),
    "CR": PROGRAM.replace("\n", "\r").encode(),
    "mixed line ends": PROGRAM.replace("\n", "\r\n", 3).encode(),
    "no last newline": PROGRAM.strip().encode(),
    "form feeds": PROGRAM.replace("\nmodel", "\n\f\nmodel").encode(),
    "tabs": b"if 1:\n\tx = 1\n        y = 2\n" + PROGRAM.encode(),
    "emoji": "s = '😀👩‍👩‍👧'; x😀 = 1\n'''😀'''\n".encode() + PROGRAM.encode(),
    "unusual line separators": "s = '\u2028\u2029\x85'\n".encode() + PROGRAM.encode(),
    "NUL bytes": b"s = '\0'\n" + PROGRAM.encode(),
    "control characters": "".join(f"s = {chr(i)}1\n" for i in range(1, 32)).encode() + PROGRAM.encode(),
    "a backslash at the end": PROGRAM.encode() + b"\\",
    "Python 2": b"print 'a'\nexec 'x'\ny = `1`\nraise E, 'x'\nprint >>f, 0777\n" + PROGRAM.encode(),
    "a broken definition": b"def f(:\n    pass\nclass\nif x\n  y\n for\n)\n" + PROGRAM.encode(),
    "an open string": PROGRAM.encode() + b'"""no end\n',
    "an open bracket": PROGRAM.encode() + b"x = (\n",
    "an open formatted string": PROGRAM.encode() + b"f'{x",
    "a statement being typed": PROGRAM.encode() + b"loss_at_the_end.",
    "a merge conflict": b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n" + PROGRAM.encode(),
}
# Files in which there is nothing to find.
EMPTY = {
    "nothing": b"",
    "space": b" \n\t\n ",
    "comments": b"# torch\n" * 1000,
    "a word": b"torch",
    "NULs": b"\0" * 10_000 + b"torch",
    "noise": random.Random(1).randbytes(100_000) + b"torch",
    "a byte order mark": b"\xff\xfe",
    "half a character": b"torch \xe2\x82",
}


@pytest.mark.parametrize("name", READABLE)
def test_files_that_are_read_all_the_same(gradsense: Gradsense, name: str) -> None:
    Path("train.py").write_bytes(READABLE[name])
    assert FOUND in gradsense("train.py")[1].replace("may raise", "raises")


@pytest.mark.parametrize("name", EMPTY)
def test_files_in_which_there_is_nothing(gradsense: Gradsense, name: str) -> None:
    Path("train.py").write_bytes(EMPTY[name])
    code, said = gradsense("train.py")
    assert code == (2 if "not a text file" in said else 0)


def write(**files: str) -> None:
    """Writes files, whose names have `__` for a slash."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_imports_in_a_circle(gradsense: Gradsense) -> None:
    write(
        a=HEAD + "import a\nfrom a import *\nfrom . import a as b\nimport b\nfrom c import *\na.a.a.model\n" + FAULT,
        b=HEAD + "import a\nfrom c import g\ndef f(x): return a.model(g(x))\n",
        c=HEAD + "from a import model\nfrom b import f\ndef g(x): return f(x)\n",
    )
    assert FOUND in gradsense("a.py")[1]
    assert FOUND in gradsense(".")[1]


def test_imports_that_lead_nowhere(gradsense: Gradsense) -> None:
    dots = "." * 50
    write(
        a=HEAD
        + f"from {dots} import x\nfrom {dots}y.z import x\nimport q.r.s\nfrom . import *\nfrom .. import *\n"
        + FAULT
    )
    assert FOUND in gradsense(".")[1]


def test_a_long_chain_of_imports(gradsense: Gradsense) -> None:
    write(m0=PROGRAM, **{f"m{i}": HEAD + f"import m{i - 1}\nfrom m{i - 1} import *\n" for i in range(1, 250)})
    code, said = gradsense("--jobs", "1", ".")
    assert code == 1
    assert "not all of this file was followed" in said


def test_files_with_the_names_of_libraries(gradsense: Gradsense) -> None:
    """The library is meant, as it is where the file is not beside the program that runs."""
    write(
        torch="raise SystemExit\n",
        random="raise SystemExit\n",
        other__torch____init__="from .nn import *\n",
        other__torch__nn="class Linear: pass\n",
        other__train=PROGRAM,
        train="import random\n" + PROGRAM,
    )
    assert gradsense(".")[1].count(FOUND) == 2


def test_nothing_is_run_or_imported(gradsense: Gradsense, tmp_path: Path) -> None:
    trace = tmp_path / "it_was_run"
    evil = f"open({str(trace)!r}, 'w')\n__import__('os').system('echo > {trace}')\nexec('open({str(trace)!r}, 1)')\n"
    write(evil_for_the_test=evil, conftest=evil, sitecustomize=evil, torch=evil, setup=evil)
    write(train="import evil_for_the_test\nfrom evil_for_the_test import *\n" + evil + PROGRAM)
    assert FOUND in gradsense(".")[1]
    assert not trace.exists()
    assert "evil_for_the_test" not in sys.modules


def test_links_and_what_is_no_file(gradsense: Gradsense, tmp_path: Path) -> None:
    write(a=PROGRAM)
    (tmp_path / "folder.py").mkdir()
    try:
        os.symlink(".", "circle")
        os.symlink("..", "up")
        os.symlink("a.py", "b.py")
        os.symlink("nowhere.py", ".#lock.py")
        os.symlink("round.py", "round.py")
    except OSError:
        pytest.skip("no links here")
    if hasattr(os, "mkfifo"):
        # To read it would be to wait for ever.
        os.mkfifo("pipe.py")
    code, said = gradsense(".")
    assert code == 1
    assert said.count(FOUND) == 1


@pytest.mark.parametrize("name", ["a b", "-x", "é😀", "[x]", "a.b", "a\nb", "'\"", "%d", "{x}"])
@pytest.mark.parametrize("form", ["full", "json", "sarif", "github"])
def test_names_of_files(gradsense: Gradsense, name: str, form: str) -> None:
    try:
        Path(f"{name}.py").write_text(PROGRAM)
    except OSError:
        pytest.skip("no such names here")
    assert gradsense("--output-format", form, ".")[0] == 1


@pytest.mark.parametrize(
    "text", [b"[tool.gradsense\nx ==", b"[tool.gradsense]\nselect = 5\nnone = {}", b"\xff\xfe\0", None]
)
def test_settings_that_are_none(gradsense: Gradsense, text: bytes | None) -> None:
    write(a=PROGRAM)
    if text is None:
        Path("pyproject.toml").mkdir()
    else:
        Path("pyproject.toml").write_bytes(text)
    assert FOUND in gradsense(".")[1]


def test_a_folder_of_2000_files(gradsense: Gradsense) -> None:
    for i in range(2000):
        path = Path(f"p{i % 40}/m{i}.py")
        path.parent.mkdir(exist_ok=True)
        other = i * 7 % 2000
        path.write_text(HEAD + f"from p{other % 40}.m{other} import Net as Base\nclass Net(nn.Module): pass\n")
    write(main=PROGRAM)
    assert FOUND in gradsense("--jobs", "1", "--output-format", "concise", ".")[1]
