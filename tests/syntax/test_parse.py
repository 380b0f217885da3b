"""Parsing: speed, silence, and no text that makes it raise."""

from __future__ import annotations

import ast
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.syntax.programs import FILES, names_in_place, read

from gradsense.syntax import ParsedModule, Source, parse

NOISY = "x = '\\d'\ny = '\\w' if 1else 2\n"


@pytest.mark.parametrize("action", ["error", "default", "always", "once"])
def test_warnings_of_the_parser_are_not_shown(action: str, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(action)  # type: ignore[arg-type]
        for _ in range(2):
            assert read(NOISY).problems == ()
        warnings.simplefilter(action)  # type: ignore[arg-type]
        assert read(NOISY).problems == ()
    assert capfd.readouterr().err == ""


def test_warnings_about_other_files_are_still_shown() -> None:
    kind = SyntaxWarning if sys.version_info >= (3, 12) else DeprecationWarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        read(NOISY)
        with pytest.warns(kind, match="invalid escape"):
            ast.parse("x = '\\d'", "other.py")


def test_threads_do_not_disturb_each_other() -> None:
    failures: list[object] = []

    def work() -> None:
        for _ in range(50):
            parsed = read(NOISY)
            if parsed.problems:
                failures.append(parsed.problems)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(NOISY)
        filters = list(warnings.filters)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(warnings.filters) == filters
    assert not failures


def test_a_good_file_gives_the_tree_of_python() -> None:
    for path in FILES[::5]:
        text = path.read_text(encoding="utf-8")
        parsed = parse(Source.from_path(path))
        assert parsed.problems == ()
        assert ast.dump(parsed.tree, include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


# -- mutations of real code --

TEXTS = {path.name: path.read_text(encoding="utf-8") for path in FILES}
PIECES = ["(", ")", "[", "]", "{", "}", ":", ";", ",", ".", "'", '"', "\\", "@", "#", "%", "!", "`", "$", "\t", "\n"]
PIECES += [
    "\r",
    "\x0c",
    "=",
    "é",
    "🔥",
    "\0",
    '"""',
    "'''",
    "\ud800",
    " ",
    "    ",
    "if",
    "def ",
    "class ",
    "\n  x = (\n",
]


def truncate(text: str, random: random.Random) -> str:
    return text[: random.randrange(len(text))]


def insert(text: str, random: random.Random) -> str:
    place = random.randrange(len(text))
    return text[:place] + random.choice(PIECES) + text[place:]


def delete(text: str, random: random.Random) -> str:
    place = random.randrange(len(text))
    return text[:place] + text[place + random.randrange(1, 40) :]


def copy(text: str, random: random.Random) -> str:
    place, other = random.randrange(len(text)), random.randrange(len(text))
    return text[:place] + text[other : other + 60] + text[place:]


def shift(text: str, random: random.Random) -> str:
    lines = text.split("\n")
    place = random.randrange(len(lines))
    lines[place] = random.choice([" ", "\t", "    "]) + lines[place]
    return "\n".join(lines)


def drop_line(text: str, random: random.Random) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


CHANGES: list[Callable[[str, random.Random], str]] = [truncate, insert, delete, copy, shift, drop_line]


def statements(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def compiles(parsed: ParsedModule) -> None:
    """The tree is one that Python could have made: it can be written, and its places lie in the text."""
    assert isinstance(ast.unparse(parsed.tree), str)
    count = len(parsed.source.lines)
    for node in ast.walk(parsed.tree):
        if hasattr(node, "lineno"):
            span = parsed.source.span_of(node)
            assert 1 <= span.line <= span.end_line <= count
            assert span.start <= span.end
    for problem in parsed.problems:
        assert 1 <= problem.line <= problem.last_line <= count


@pytest.mark.parametrize("seed", range(120))
def test_mutated_real_code(seed: int) -> None:
    chance = random.Random(seed)
    text = TEXTS[chance.choice(sorted(TEXTS))] or "x"
    for _ in range(chance.choice([1, 1, 1, 2, 10])):
        text = chance.choice(CHANGES)(text, chance) or "x"
    parsed = parse(Source.from_text("a.py", text))
    compiles(parsed)


@pytest.mark.parametrize("change", [insert, delete, shift, drop_line])
def test_one_mistake_costs_little(change: Callable[[str, random.Random], str]) -> None:
    chance = random.Random(0)
    lost = []
    for _ in range(60):
        text = TEXTS[chance.choice(sorted(name for name in TEXTS if len(TEXTS[name]) > 2000))]
        parsed = parse(Source.from_text("a.py", change(text, chance)))
        lost.append(statements(ast.parse(text)) - statements(parsed.tree))
        assert len(names_in_place(parsed)) <= 3
    assert sorted(lost)[54] <= 4
    assert sum(lost) / len(lost) < 6


@given(st.text(alphabet="abif=:()[]'\"\\#\n\t \r\x0c,.@%é\0def", max_size=120))
@example("\x0c(\n\x0c")
@example("if\n\tx\n        y")
@settings(max_examples=300)
def test_any_text(text: str) -> None:
    compiles(parse(Source.from_text("a.py", text)))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from(
                [
                    "x = 1",
                    "if x:",
                    "else:",
                    "try:",
                    "(",
                    "def f(",
                    "@a",
                    '"""',
                    "except A, b:",
                    "match x:",
                    "case 1:",
                    "class A",
                    "return (",
                ]
            ),
        ),
        max_size=25,
    )
)
@settings(max_examples=300)
def test_any_order_of_statements(lines: list[tuple[int, str]]) -> None:
    compiles(parse(Source.from_text("a.py", "\n".join(" " * indent + line for indent, line in lines))))


# -- speed --


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def costs_at_most(factor: float, work: Callable[[], object], measure: Callable[[], object]) -> bool:
    """True if `work` takes at most `factor` times as long as `measure`, in the best of some tries.

    Both run in turn, since other processes slow this one now and then.
    """
    return any(seconds(work) <= factor * seconds(measure) + 0.02 for _ in range(6))


@pytest.fixture(scope="module")
def long_program() -> list[str]:
    """About 5,000 lines of real code."""
    text = ""
    for name in sorted(TEXTS):
        text += TEXTS[name]
        if text.count("\n") >= 5_000:
            break
    return text.split("\n")


@pytest.mark.parametrize("wrong", ["x = foo(", "        if x", '"""', "   y = 2", "def f(a,", "x = 'abc"])
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_one_mistake_in_5000_lines_takes_little_more_than_parsing(
    wrong: str, share: float, long_program: list[str]
) -> None:
    place = int(len(long_program) * share)
    good = "\n".join(long_program)
    text = "\n".join([*long_program[:place], wrong, *long_program[place:]])
    assert costs_at_most(8, lambda: parse(Source.from_text("a.py", text)), lambda: ast.parse(good))


def test_a_good_program_takes_hardly_more_than_parsing(long_program: list[str]) -> None:
    text = "\n".join(long_program)
    assert costs_at_most(1.6, lambda: parse(Source.from_text("a.py", text)), lambda: ast.parse(text))


HOSTILE = {
    "unclosed": "x = (\n",
    "nested unclosed": "f(g()\n",
    "strings": "x = 'a\n",
    "escaped quotes": '\\"""\n',
    "both quotes": "x = '''\ny = \"\"\"\n",
    "operators": "x = = 1\n",
    "headers": "if x\n",
    "branches": "if a: pass\nelif b:\n",
    "else": "else:\n x\n",
    "try": "try:\n  x\n",
    "decorators": "@x\n",
    "backslashes": "\\\n",
    "Python 2": "class A:\n  def f(self):\n    print x\n",
    "dedents": "if x:\n    y\n  z\n",
    "nul": "x = 1\0\n",
    "brackets": "(" * 20 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_grows_no_faster_than_the_text(text: str) -> None:
    small, large = text * 250, text * 2_000
    assert costs_at_most(
        24, lambda: parse(Source.from_text("a.py", large)), lambda: parse(Source.from_text("a.py", small))
    )


def test_real_files_elsewhere_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\r\nx = '\xe9'; y = x\r\n")
    parsed = parse(Source.from_path(path))
    assert not names_in_place(parsed)
    assert parsed.source.newline == "\r\n"
