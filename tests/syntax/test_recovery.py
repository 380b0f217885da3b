"""What stays of programs that do not parse, and what is said about the rest."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent

import pytest
from tests.syntax.programs import code, lines_of, messages, names_in_place, read

from gradsense.syntax import Source, parse
from gradsense.syntax.source import UNKNOWN


def same(text: str, expected: str) -> None:
    """Assert what is left of a text, and that what is left is where it was."""
    parsed = read(text)
    assert parsed.problems
    assert ast.unparse(parsed.tree) == ast.unparse(ast.parse(expected.replace("UNKNOWN", UNKNOWN)))
    assert not names_in_place(parsed)


def test_a_good_program_has_no_problems() -> None:
    parsed = read("x = 1\n")
    assert parsed.problems == ()
    assert ast.unparse(parsed.tree) == "x = 1"


@pytest.mark.parametrize(
    ("broken", "stand_in"),
    [
        ("x = criterion(out, y", "x = UNKNOWN"),
        ("x = criterion(out, y  # not (yet", "x = UNKNOWN"),
        ("x, y = model(", "x, y = UNKNOWN"),
        ("self.hidden = self.rnn(x,", "self.hidden = UNKNOWN"),
        ("state['h'] = f(", "state['h'] = UNKNOWN"),
        ("x: Tensor = f(", "x = UNKNOWN"),
        ("x += f(", "x = UNKNOWN"),
        ("x.", "pass"),
        ("x = ", "x = UNKNOWN"),
        ("loss.backward(", "pass"),
        ("return f(", "return UNKNOWN"),
        ("import", "pass"),
        ("from torch import (nn", "pass"),
        ("a b c", "pass"),
        ("x = 'abc", "x = UNKNOWN"),
        ("x == = 1", "pass"),
        ("x = 1 +* 2; y = 3", "x = UNKNOWN"),
        ("f(\n    a,\n    b", "pass"),
        ("d = {\n    'a': 1\n    'b': 2,\n}", "d = UNKNOWN"),
        ("x = $", "x = UNKNOWN"),
        (")", "pass"),
        ("x = '''", "x = UNKNOWN"),
    ],
)
@pytest.mark.parametrize("indent", ["", "    "])
def test_a_broken_statement_leaves_its_neighbours(broken: str, stand_in: str, indent: str) -> None:
    before, after = "before = 1", "after = 'ö'\nlast = before"
    text = "\n".join([before, *broken.split("\n"), *after.split("\n")])
    expected = "\n".join([before, stand_in, after])
    if indent:
        text = "def f():\n" + "\n".join(indent + line for line in text.split("\n"))
        expected = "def f():\n" + "\n".join(indent + line for line in expected.split("\n"))
    same(text, expected)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for i, x in enumerate(loader", "for i, x in enumerate(loader):"),
        ("for i, x in enumerate(loader:", "for i, x in enumerate(loader):"),
        ("for i, x in load er:", "for i, x in UNKNOWN:"),
        ("for i in", "for i in UNKNOWN:"),
        ("for", "for UNKNOWN in UNKNOWN:"),
        ("if x", "if x:"),
        ("if x ==:", "if UNKNOWN:"),
        ("if", "if UNKNOWN:"),
        ("while (x and", "while UNKNOWN:"),
        ("with torch.no_grad(", "with torch.no_grad():"),
        ("with open(a b) as f:", "with UNKNOWN as f:"),
        ("with", "with UNKNOWN:"),
        ("def f(self, x", "def f(self, x):"),
        ("def f(self, x, *, y=:", "def f(self, x, y):"),
        ("def f(a a):", "def f(a):"),
        ("def f(1):", "def f():"),
        ("def f[(x):", "def f(x):"),
        ("def (x):", "def UNKNOWN(x):"),
        ("class Net(nn.Module", "class Net(nn.Module):"),
        ("class Net(nn.):", "class Net(UNKNOWN):"),
        ("class 1:", "class UNKNOWN(UNKNOWN):"),
        ("try", "if 1:"),
        ("async def f(x", "async def f(x):"),
    ],
)
def test_a_broken_header_leaves_its_block(header: str, expected: str) -> None:
    text = f"first = 1\n{header}\n    body = first\n    more = body\nlast = 2\n"
    parsed = read(text)
    wanted = f"first = 1\n{expected}\n    body = first\n    more = body\nlast = 2\n".replace("UNKNOWN", UNKNOWN)
    assert ast.unparse(parsed.tree) == ast.unparse(ast.parse(wanted))
    assert parsed.problems[0].line == 2


@pytest.mark.parametrize("header", ["elif b", "elif", "else", "elif b ==:", "else if b:"])
def test_a_broken_branch_leaves_the_others(header: str) -> None:
    tree = read(f"if a:\n    x = 1\n{header}\n    x = 2\ny = 3\n").tree
    branch, last = tree.body
    assert isinstance(branch, ast.If)
    assert len(branch.orelse) == 1
    assert ast.unparse(last) == "y = 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if x:\ny = 1", "if x:\n    pass\ny = 1"),
        ("def f(self):  # comment\n\nclass A:\n    x = 1", "def f(self):\n    pass\nclass A:\n    x = 1"),
        ("class A:\n    def f(self):\n    def g(self):\n        return 1", None),
        ("try:\n    x = 1\ny = 2", "if 1:\n    x = 1\ny = 2"),
        ("try:\n    x = 1\nexcept E\n    y = 2", "try:\n    x = 1\nexcept E:\n    y = 2"),
        ("try:\n    x = 1\nexcept (A, as e:\n    y = 2", "try:\n    x = 1\nexcept UNKNOWN as e:\n    y = 2"),
        ("try:\n    x = 1\nexcept E:", "try:\n    x = 1\nexcept E:\n    pass"),
        ("else:\n    x = 1\ny = 2", "if UNKNOWN:\n    x = 1\ny = 2"),
        ("if a:\n    x = 1\nz\nelse:\n    x = 2", "if a:\n    x = 1\nz\nif UNKNOWN:\n    x = 2"),
        ("@deco(\ndef f():\n    x = 1", "def f():\n    x = 1"),
        ("@deco\nx = 1", "pass\nx = 1"),
        ("match x:\n    case 1:\n        y = 1\n    case (2:\n        y = 2", None),
        ("match x:\n    case 1:\n        y = (\n    case 2:\n        y = 2", None),
        ("match x:\n    case 1:\n        y = 1\n    oops\n", "match x:\n    case 1:\n        y = 1"),
        ("if x: y = (\nz = 1", "if UNKNOWN:\n    pass\nz = 1"),
        ("for x in y: pass\n    z = 1\nw = 2", None),
    ],
)
def test_compound_statements(text: str, expected: str | None) -> None:
    if expected is None:
        parsed = read(text)
        assert parsed.problems
        assert parsed.tree.body
        assert "nothing" not in lines_of(text)
    else:
        same(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n    y = x\n    if y:\n        z = y\nw = z", "x = 1\ny = x\nif y:\n    z = y\nw = z"),
        ("def f():\n        a = 1\n    b = a\n    return b", "def f():\n    a = 1\n    b = a\n    return b"),
        (
            "def f():\n\tif x:\n\t\ty = x\n        z = y\n\treturn z",
            "def f():\n    if x:\n        y = x\n    z = y\n    return z",
        ),
        ("  x = 1\n  y = x", "x = 1\ny = x"),
        (" x = (\n  é,\n z)\n y = x", "x = (é, z)\ny = x"),
    ],
)
def test_wrong_indentation_is_read_as_it_was_meant(text: str, expected: str) -> None:
    same(text, expected)


def test_problems_name_the_lines_that_are_left_out() -> None:
    parsed = read("a = 1\nb = f(\n    c,\n    d\ne = 2\n")
    (problem,) = parsed.problems
    assert (problem.line, problem.last_line) == (2, 4)
    assert problem.message == "syntax error: '(' was never closed; this statement is left out"


def test_a_docstring_being_typed_does_not_swallow_the_file() -> None:
    text = 'def f():\n    """\n    return 1\n\ndef g():\n    """Doc."""\n    x = 1\n    return x\n'
    text += '\ndef h():\n    """Doc.\n    """\n'
    tree = read(text).tree
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["f", "g", "h"]
    assert "return x" in ast.unparse(tree)


def test_python_2_is_reported_once() -> None:
    text = dedent("""
        print "start"
        try:
            x = 1
        except ValueError, error:
            raise RuntimeError, "bad"
        for i in xrange(3):
            print i, x
            loss.backward()
        print >>sys.stderr, x
        exec "y = 1"
        if x <> 1: y = 0777L
    """)
    assert len(messages(text)) == 1
    assert messages(text)[0][0] == 2
    assert messages(text)[0][1].startswith("this is Python 2 code; convert it to Python 3")
    assert "except ValueError as error" in code(text)
    assert "loss.backward()" in code(text)


@pytest.mark.parametrize("text", ["print(x", "x = `y` +", "print in x y", "x = 'a <> b' +", "f(a,\n  '10L'"])
def test_broken_python_3_is_not_python_2(text: str) -> None:
    assert "Python 2" not in lines_of(text) or "`y`" in text


NEWER = [
    ((3, 12), "def f[T](x: T) -> T:\n    return x", "type parameters", "def f(x: T) -> T:\n    return x"),
    ((3, 12), "def f[T](x): return x", "type parameters", "def f(x):\n    return x"),
    ((3, 12), "class A[T: (int, str)](B):\n    y = 1", "type parameters", "class A(B):\n    y = 1"),
    ((3, 12), "type X = int", "`type` statements", "pass"),
    ((3, 12), "x = f'{d['a']}'", "f-string", "x = UNKNOWN"),
    ((3, 12), "x = f'{y + '\\n'.join(z)}'", "f-string", "x = UNKNOWN"),
    ((3, 11), "try:\n    x\nexcept* E as e:\n    y", "`except*`", "try:\n    x\nexcept E as e:\n    y"),
    ((3, 11), "x = a[*b]", "subscript", "x = UNKNOWN"),
    ((3, 14), "x = t'{a}'", "template strings", "x = f'{a}'"),
    ((3, 14), "try:\n    x\nexcept A, B:\n    y", "without parentheses", "try:\n    x\nexcept (A, B):\n    y"),
]


@pytest.mark.parametrize(("version", "text", "feature", "expected"), NEWER)
def test_syntax_of_a_newer_python_is_named(version: tuple[int, int], text: str, feature: str, expected: str) -> None:
    if sys.version_info >= version:
        assert not messages(text)
        return
    message = lines_of(text)
    assert feature in message
    assert f"need Python {version[0]}.{version[1]}, and GradSense runs on {sys.version_info[0]}." in message
    same(text, expected)


def test_nul_bytes_and_lone_surrogates() -> None:
    parsed = read("x = 1\0\ny = '\0'\nz = '\ud800'; w = z\n")
    assert "NUL" in parsed.problems[0].message
    assert not names_in_place(parsed)
    assert len(parsed.tree.body) == 4


@pytest.mark.parametrize(
    "text",
    ["", "\n", "   ", "#", "\\", "\0", "\x1a", "\ufeff", "\x0c", "'", '"""', "(", ")", "@", ":", "%", "\t\n \n", "🔥"],
)
def test_tiny_texts(text: str) -> None:
    assert isinstance(read(text).tree, ast.Module)


def test_commands_of_ipython_in_a_script() -> None:
    text = '%matplotlib inline\n!pip install "x\nx = 1\n?x\n'
    assert code(text) == "pass\npass\nx = 1\npass"
    assert [line for line, message in messages(text) if "IPython" in message] == [1, 2, 4]


def test_one_broken_cell_leaves_the_others() -> None:
    cells = [
        (0, "a = 1"),
        (1, "b = f(\n  '''"),
        (2, "c = a"),
        (3, "  d = c\n  e = d"),
        (4, "else:\n  f = 1"),
        (5, "g = 2 + \\"),
    ]
    parsed = parse(Source.from_cells("a.ipynb", [*cells, (6, "h = a")]))
    text = ast.unparse(parsed.tree)
    for kept in ("a = 1", f"b = {UNKNOWN}", "c = a", "d = c", "e = d", "    f = 1", "h = a"):
        assert kept in text
    assert not names_in_place(parsed)
    assert [parsed.source.cell_at(problem.line) for problem in parsed.problems] == [(1, 1), (4, 1), (5, 1)]


def test_an_indented_cell_is_no_mistake() -> None:
    parsed = parse(Source.from_cells("a.ipynb", [(0, "  x = 1\n  if x:\n    y = x")]))
    assert ast.unparse(parsed.tree) == "x = 1\nif x:\n    y = x"
    assert parsed.problems == ()
    assert not names_in_place(parsed)


def test_many_problems_are_cut_short() -> None:
    found = messages("x = (\n" * 200)
    assert len(found) == 51
    assert found[-1][1] == "150 more problems from here on"
