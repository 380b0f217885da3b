"""Every kind of edit at places drawn from real files: the tree changes as it should, and nowhere else."""

from __future__ import annotations

import ast
import contextlib
import copy
import graphlib
import json.decoder
import random
import shlex
import textwrap
from functools import lru_cache
from pathlib import Path

import pytest

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Edits
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.fixes.keywords import drop_keyword, set_keyword
from gradsense.fixes.out_of_place import out_of_place
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.suppress import suppress_line
from gradsense.fixes.tree import ancestors, block_of
from gradsense.fixes.values import has_no_graph_form, is_cut
from gradsense.fixes.wrap import wrap_in
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.source import Source
from gradsense.syntax.suppressions import Suppressions

MODULES = (contextlib, json.decoder, textwrap, shlex, graphlib)
STYLES = ("plain", "windows", "tabs")
SAMPLE = 20


@lru_cache
def _text(index: int, style: str) -> str:
    path = MODULES[index].__file__
    assert path is not None
    text = Path(path).read_text(encoding="utf-8")
    if style == "windows":
        return text.replace("\n", "\r\n")
    if style == "tabs":
        lines = [line.replace(" " * 4, "\t", (len(line) - len(line.lstrip(" "))) // 4) for line in text.split("\n")]
        return "\n".join(lines)
    return text


@lru_cache
def _program(index: int, style: str) -> tuple[Source, ast.Module]:
    source = Source.from_text("real.py", _text(index, style))
    return source, ast.parse(source.text)


CASES = [pytest.param(index, STYLES[index % len(STYLES)], id=module.__name__) for index, module in enumerate(MODULES)]


def _drawn(tree: ast.Module, kind: type[ast.AST], seed: int) -> list[ast.AST]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, kind)]
    random.Random(seed).shuffle(nodes)
    return nodes


def _after(source: Source, edits: Edits) -> str:
    return ast.dump(ast.parse(apply_edits(source.text, edits)))


def _with(tree: ast.Module, old: ast.AST, new: ast.AST | list[ast.stmt]) -> str:
    """The dump of the tree with another node, or several statements, in the place of one."""
    parent = ancestors(tree, old)[-1]
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
            dump = ast.dump(tree)
            setattr(parent, field, old)
            return dump
        places = [i for i, one in enumerate(value) if one is old] if isinstance(value, list) else []
        for place in places:
            kept = list(value)
            value[place : place + 1] = new if isinstance(new, list) else [new]
            dump = ast.dump(tree)
            value[:] = kept
            return dump
    raise AssertionError("the tree does not hold the node")


def _copied(node: ast.AST) -> ast.AST:
    return copy.deepcopy(node)


@pytest.mark.parametrize(("index", "style"), CASES)
def test_detach(index: int, style: str) -> None:
    source, tree = _program(index, style)
    done = 0
    for node in _drawn(tree, ast.expr, 1):
        if is_cut(node) or has_no_graph_form(node) or isinstance(node, ast.Slice):
            continue
        edits = detach(source, tree, node)
        inside = any(isinstance(parent, ast.JoinedStr) for parent in ancestors(tree, node))
        subscripted = isinstance(node, ast.Tuple)
        assert edits is not None or inside or subscripted, ast.unparse(node)
        if edits is None or inside:
            continue
        call = ast.Call(ast.Attribute(_copied(node), "detach", ast.Load()), [], [])
        assert _after(source, edits) == _with(tree, node, call)
        done += 1
        if done == SAMPLE:
            break


@pytest.mark.parametrize(("index", "style"), CASES)
def test_keywords_are_set_and_dropped(index: int, style: str) -> None:
    source, tree = _program(index, style)
    for node in _drawn(tree, ast.Call, 2)[:SAMPLE]:
        if any(keyword.arg is None for keyword in node.keywords):
            assert set_keyword(source, tree, node, "flag", "True") is None
            continue
        edits = set_keyword(source, tree, node, "flag", "True")
        if any(isinstance(parent, ast.JoinedStr) for parent in ancestors(tree, node)):
            continue
        assert edits is not None
        more = [*map(_copied, node.keywords), ast.keyword("flag", ast.Constant(True))]
        changed = ast.Call(_copied(node.func), [*map(_copied, node.args)], more)
        assert _after(source, edits) == _with(tree, node, changed)

    for node in [call for call in _drawn(tree, ast.Call, 3) if call.keywords][:SAMPLE]:
        keyword = node.keywords[0]
        if keyword.arg is None:
            continue
        edits = drop_keyword(source, tree, node, keyword.arg)
        assert edits is not None
        changed = ast.Call(_copied(node.func), [*map(_copied, node.args)], [*map(_copied, node.keywords[1:])])
        assert _after(source, edits) == _with(tree, node, changed)


@pytest.mark.parametrize(("index", "style"), CASES)
def test_augmented_assignments(index: int, style: str) -> None:
    source, tree = _program(index, style)
    for node in _drawn(tree, ast.AugAssign, 4)[:SAMPLE]:
        edits = out_of_place(source, tree, node, items=True)
        if edits is None:
            continue
        target = _copied(node.target)
        read = ast.parse(ast.unparse(target), mode="eval").body
        changed = ast.Assign([target], ast.BinOp(read, node.op, _copied(node.value)))
        assert _after(source, edits) == _with(tree, node, changed)


@pytest.mark.parametrize(("index", "style"), CASES)
def test_statements_are_inserted_and_removed(index: int, style: str) -> None:
    source, tree = _program(index, style)
    new = ast.parse("new()").body
    for node in _drawn(tree, ast.stmt, 5)[:SAMPLE]:
        if source.slice(source.span_of(node)).startswith("elif"):
            assert insert_before(source, tree, node, "new()") is None
            continue
        edits = insert_before(source, tree, node, "new()")
        assert edits is not None
        assert _after(source, edits) == _with(tree, node, [*new, _copied(node)])
        edits = insert_after(source, tree, node, "new()")
        if not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            assert edits is not None
            assert _after(source, edits) == _with(tree, node, [_copied(node), *new])
        block = block_of(tree, node)
        assert block is not None
        edits = remove_statement(source, tree, node)
        assert edits is not None
        assert _after(source, edits) == _with(tree, node, [ast.Pass()] if len(block.statements) == 1 else [])


@pytest.mark.parametrize(("index", "style"), CASES)
def test_statements_are_wrapped(index: int, style: str) -> None:
    source, tree = _program(index, style)
    for node in _drawn(tree, ast.stmt, 6)[:SAMPLE]:
        edits = wrap_in(source, tree, [node])
        if edits is None or isinstance(node, ast.ImportFrom):
            continue
        # The file has no torch: the first edit imports it.
        edits = tuple(edit for edit in edits if "import torch" not in edit.new_text)
        call = ast.Call(ast.Attribute(ast.Name("torch", ast.Load()), "no_grad", ast.Load()), [], [])
        wrapped = ast.With([ast.withitem(call)], [_copied(node)])
        assert _after(source, edits) == _with(tree, node, [wrapped])


@pytest.mark.parametrize(("index", "style"), CASES)
def test_a_line_is_told_to_be_ignored(index: int, style: str) -> None:
    source, tree = _program(index, style)
    for node in _drawn(tree, ast.stmt, 7)[:SAMPLE]:
        edits = suppress_line(source, tree, node.lineno, "GS301")
        assert edits is not None and edits[0].span.line >= node.lineno
        text = apply_edits(source.text, edits)
        assert Suppressions.of(Source.from_text("real.py", text)).hides("GS301", node.lineno)
        assert ast.dump(ast.parse(text)) == ast.dump(tree)
