"""A tree that is brought up to date in place, held against reading the whole text anew."""

from __future__ import annotations

import ast
from itertools import islice

import pytest

from gradsense.syntax.live import LiveModule
from gradsense.syntax.parse import parse
from gradsense.syntax.source import Source
from lsp.edits import Typist, is_valid

TEXT = '''\
"""A program."""
import torch


@torch.no_grad()
def first(a, b=1):
    """Says what it does."""
    for i in range(3):
        a = a + b
    return a


class Net:
    size = 3

    def forward(self, x):
        if x:
            y = x
        else:
            y = 2
        return y

    def second(self): return 1


try:
    value = first(1)
except ValueError:
    value = None
if value: first(value); Net()
'''


def live(text: str = TEXT) -> LiveModule:
    return LiveModule(Source.from_text("a.py", text))


def dumped(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def fresh(text: str) -> str:
    return dumped(parse(Source.from_text("a.py", text)).tree)


def function(module: LiveModule, name: str) -> ast.FunctionDef:
    (found,) = [n for n in ast.walk(module.module.tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_after_any_edit_the_tree_is_that_of_the_text(seed: int) -> None:
    module = live()
    typist = Typist(TEXT, seed)
    for _ in islice(typist.edits(), 120):
        module.update(Source.from_text("a.py", typist.text), thorough=not is_valid(typist.text))
        if is_valid(typist.text):
            if module.is_broken:
                module.update(Source.from_text("a.py", typist.text), thorough=True)
            assert dumped(module.module.tree) == fresh(typist.text), typist.text
            assert not module.is_broken
        assert module.source.text == typist.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch\n", "import torch\n\n\n# a comment\n"),
        ("        a = a + b\n", "        # a comment\n        a = a + b  # another\n"),
        ("Says what it does.", "Says nothing.\n\n    Or a lot."),
        ("    size = 3\n", "\n    size = 3\n"),
    ],
)
def test_comments_blank_lines_and_docstrings_change_nothing(old: str, new: str) -> None:
    module = live()
    forward = function(module, "forward")
    text = TEXT.replace(old, new)
    edit = module.update(Source.from_text("a.py", text))
    assert edit.nothing
    assert dumped(module.module.tree) == fresh(text)
    assert function(module, "forward") is forward


def test_a_changed_body_is_all_that_changed() -> None:
    module = live()
    forward, first = function(module, "forward"), function(module, "first")
    kept = first.body[-1]
    text = TEXT.replace("a = a + b", "a = a * b\n        a += 1")
    edit = module.update(Source.from_text("a.py", text))
    assert (edit.functions, edit.outside) == ({first}, False)
    assert function(module, "forward") is forward
    assert function(module, "first") is first and first.body[-1] is kept
    assert dumped(module.module.tree) == fresh(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("size = 3", "size = 4"),
        ("b=1", "b=2"),
        ("def second(self)", "def third(self)"),
        ("value = first(1)", "value = 1"),
    ],
)
def test_what_is_outside_of_functions_is_told_apart(old: str, new: str) -> None:
    module = live()
    edit = module.update(Source.from_text("a.py", TEXT.replace(old, new)))
    assert edit.outside


def test_the_same_statements_in_other_places_of_the_line_are_not_the_same() -> None:
    module = live()
    edit = module.update(Source.from_text("a.py", TEXT.replace("return 1", "\n        return 1")))
    assert edit.functions == {function(module, "second")}


def test_half_written_code_breaks_only_where_it_stands() -> None:
    module = live()
    forward = function(module, "forward")
    module.update(Source.from_text("a.py", TEXT.replace("a = a + b", "a = a.")))
    assert module.broken == {function(module, "first")} and not module.broken_outside
    assert function(module, "forward") is forward
    edit = module.update(Source.from_text("a.py", TEXT.replace("a = a + b", "a = a.b")))
    assert not module.is_broken
    assert edit.functions == {function(module, "first")}


def test_two_broken_places_can_mend_each_other() -> None:
    module = live()
    one = TEXT.replace("import torch\n", "import torch\n'''\n")
    module.update(Source.from_text("a.py", one))
    assert module.is_broken
    both = one.replace("try:\n", "'''\ntry:\n")
    module.update(Source.from_text("a.py", both), thorough=True)
    assert not module.is_broken
    assert dumped(module.module.tree) == fresh(both)


def test_a_text_that_was_broken_from_the_start() -> None:
    module = live(TEXT.replace("a = a + b", "a = a + ("))
    assert module.broken == {function(module, "first")}
    module.update(Source.from_text("a.py", TEXT))
    assert not module.is_broken
    assert dumped(module.module.tree) == fresh(TEXT)
