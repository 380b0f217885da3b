"""Makes a program that shows a disagreement as small as it can be."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from pathlib import Path

from oracle import Outcome

from .batch import judge
from .compare import Comparison, Signature

REGRESSIONS = Path(__file__).parent / "regressions"
NO_TENSORS = frozenset({"torch", "nn", "F", "optim", "self", "functools"})


def shrink(text: str, signature: Signature, limit: int = 1500) -> str:
    """Removes and simplifies what it can while the comparison keeps its signature.

    Args:
        text: the program.
        signature: `Comparison.signature` of its disagreement.
        limit: at most this many programs are tried.
    """
    tries = 0

    def holds(candidate: str) -> bool:
        nonlocal tries
        tries += 1
        try:
            return judge(candidate)[1].signature == signature
        except (SyntaxError, ValueError):
            return False

    changed = True
    while changed and tries < limit:
        changed = False
        for edits in (_chunks, _unwraps, _simpler_expressions):
            position = 0
            while tries < limit:
                candidate = _apply_one(text, edits, position)
                if candidate is None:
                    break
                if candidate != text and holds(candidate):
                    text, changed = candidate, True
                else:
                    position += 1
    return text


def _apply_one(text: str, edits: Callable[[ast.Module], Iterator[Callable[[], None]]], position: int) -> str | None:
    tree = ast.parse(text)
    for index, edit in enumerate(edits(tree)):
        if index == position:
            edit()
            try:
                return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            except (ValueError, TypeError, AttributeError):
                return text
    return None


def _suites(tree: ast.Module) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            suite = getattr(node, name, None)
            if isinstance(suite, list) and suite and isinstance(suite[0], ast.stmt):
                yield node, name, suite


def _chunks(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Deletions of runs of statements, long runs first."""
    suites = [suite for _, _, suite in _suites(tree)]
    size = max((len(suite) for suite in suites), default=0)
    while size:
        for suite in suites:
            for start in range(len(suite) - size, -1, -size):
                yield lambda suite=suite, start=start, size=size: _delete(suite, start, size)  # type: ignore[misc]
        size //= 2


def _delete(suite: list[ast.stmt], start: int, size: int) -> None:
    del suite[start : start + size]
    if not suite:
        suite.append(ast.Pass())


def _unwraps(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """A block in the place of the statement that has it."""
    for _, _, suite in list(_suites(tree)):
        for index, statement in enumerate(suite):
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    yield lambda suite=suite, index=index, inner=inner: _replace(suite, index, inner)  # type: ignore[misc]
            if isinstance(statement, ast.If | ast.For | ast.While) and statement.orelse:
                yield lambda statement=statement: statement.orelse.clear()  # type: ignore[misc]


def _replace(suite: list[ast.stmt], index: int, inner: list[ast.stmt]) -> None:
    suite[index : index + 1] = inner


def _simpler_expressions(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """An operand or argument in the place of the expression around it; fewer elements; smaller loops."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    yield lambda parent=parent, name=name, part=part: setattr(parent, name, copy.deepcopy(part))  # type: ignore[misc]
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        for part in _parts(item):
                            yield lambda value=value, index=index, part=part: value.__setitem__(index, part)  # type: ignore[misc]
                if name in ("keywords", "elts", "decorator_list", "defaults") and len(value) > (name == "elts"):
                    for index, item in enumerate(value):
                        if isinstance(item, ast.Name) and item.id in ("staticmethod", "classmethod", "property"):
                            continue
                        yield lambda value=value, index=index: value.__delitem__(index)  # type: ignore[misc]


def _parts(node: ast.expr) -> list[ast.expr]:
    return [part for part in _operands(node) if not (isinstance(part, ast.Name) and part.id in NO_TENSORS)]


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*receiver, *(argument for argument in node.args if not isinstance(argument, ast.Starred))]
    if isinstance(node, ast.Subscript | ast.Attribute):
        return [node.value] if isinstance(node.ctx, ast.Load) else []
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return []


def describe(seed: int, outcome: Outcome, comparison: Comparison) -> str:
    """The comment at the head of a saved program, without torch's line (the comment moves it)."""
    error = f"{comparison.kind}; {outcome.error_type}: {' '.join(outcome.message.split())[:90]}"
    truth = error if outcome.kind == "raises" else outcome.kind
    return f"# seed {seed}\n# torch: {truth}\n# predicted: {comparison.verdict.value}: {comparison.said}\n"


def save(folder: Path, seed: int, text: str) -> Path:
    """Writes a program with its header and what torch does with it, and returns its path."""
    outcome, comparison = judge(text)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{(comparison.kind or 'clean').replace(' ', '_').replace('=', '')}_{seed}"
    path = folder / f"{stem}.py"
    path.write_text(describe(seed, outcome, comparison) + text, encoding="utf-8")
    return path
