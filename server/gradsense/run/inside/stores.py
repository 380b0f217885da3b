"""Finds the line that stored something, by looking through the user's source."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from typing import Any

from .cutting import LoopSite, Sites
from .holders import Holder

ADDING = frozenset(
    "append appendleft add extend insert push put put_nowait update setdefault send register record log store".split()
)


class Stores:
    """The stores in the user's files.

    Args:
        sites: what was rewritten, and which of its lines ran.
    """

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self._trees: dict[str, ast.Module | None] = {}

    def line_of(self, holder: Holder, site: LoopSite) -> dict[str, Any] | None:
        """Where what the holder holds was stored, as path and line: the store that is nearest to the loop.

        Args:
            holder: the name.
            site: the loop in which it was stored.
        """
        best: tuple[tuple[int, ...], str, int] | None = None
        files = list(dict.fromkeys([holder.path, site.path, *(path for path, _, _ in self.sites.lines)]))
        for order, path in enumerate(files):
            tree = self._tree(path)
            if tree is None:
                continue
            for target, statement, adding in _stores(tree):
                rank = self._rank(holder, target, adding)
                if rank is None or not self.sites.reached(path, statement.lineno):
                    continue
                inside = path == site.path and site.line <= statement.lineno <= site.last
                distance = abs(statement.lineno - site.line) if path == site.path else 0
                key = (rank, 0 if inside else 1, 0 if adding else 1, order, distance)
                if best is None or key < best[0]:
                    best = (key, path, statement.lineno)
        return {"path": best[1], "line": best[2]} if best is not None else None

    def last_item_stored(self, path: str, first: int, last: int) -> int | None:
        """The last line in a range that ran and stored an item, or wrote a name in place, as arrays are written."""
        tree = self._tree(path)
        lines = [
            statement.lineno
            for target, statement, _ in (_stores(tree) if tree is not None else ())
            if isinstance(target, ast.Subscript) or isinstance(statement, ast.AugAssign)
        ]
        return max((line for line in lines if first <= line <= last and self.sites.reached(path, line)), default=None)

    def is_fresh(self, holder: Holder, site: LoopSite) -> bool:
        """Whether a variable is assigned in each pass of the loop before it is read: then it carries nothing."""
        tree = self._tree(site.path)
        if holder.kind != "variable" or holder.count > 1 or holder.path != site.path or tree is None:
            return False
        for node in ast.walk(tree):
            if isinstance(node, (ast.For, ast.While)) and node.lineno == site.line:
                return next(_uses(node, holder.name), "load") == "store"
        return False

    def _rank(self, holder: Holder, target: ast.expr, adding: bool) -> int | None:
        name = holder.attribute or holder.name
        if isinstance(target, ast.Subscript):
            target, adding = target.value, True
        if holder.element and not adding:  # a new container, with nothing of an earlier pass in it
            return 2 if _last_name(target) == name else None
        if holder.attribute:
            return 0 if isinstance(target, ast.Attribute) and target.attr == name else None
        return 0 if isinstance(target, ast.Name) and target.id == name else None

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = ast.parse("".join(linecache.getlines(path)))
            except (SyntaxError, ValueError):
                self._trees[path] = None
        return self._trees[path]


def _stores(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.stmt, bool]]:
    """What is stored to, with the statement, and whether what was there before stays."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for part in _parts(target):
                    yield part, statement, False
        elif isinstance(statement, ast.AugAssign):
            yield statement.target, statement, True
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield statement.target, statement, False
        elif isinstance(statement, ast.For):
            for part in _parts(statement.target):
                yield part, statement, False
        elif isinstance(statement, ast.stmt) and not hasattr(statement, "body"):
            yield from _calls_that_add(statement)
        if isinstance(statement, ast.stmt):
            for inner in ast.walk(statement) if not hasattr(statement, "body") else ():
                if isinstance(inner, ast.NamedExpr):
                    yield inner.target, statement, False


def _uses(node: ast.AST, name: str) -> Iterator[str]:
    """How a variable is used in a piece of the program, in the order of execution: `load` or `store`."""
    if isinstance(node, ast.Name):
        if node.id == name:
            yield "store" if isinstance(node.ctx, ast.Store) else "load"
        return
    if isinstance(node, ast.AugAssign):
        yield from _uses(node.value, name)
        if isinstance(node.target, ast.Name) and node.target.id == name:
            yield "load"
        return
    first = ("iter", "value", "test", "items", "target", "targets")
    fields = sorted(node._fields, key=lambda field: first.index(field) if field in first else len(first))
    for field in fields:
        value = getattr(node, field, None)
        for part in value if isinstance(value, list) else (value,):
            if isinstance(part, ast.AST):
                yield from _uses(part, name)


def _calls_that_add(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.stmt, bool]]:
    for part in ast.walk(statement):
        if not isinstance(part, ast.Call):
            continue
        if isinstance(part.func, ast.Attribute) and part.func.attr in ADDING:
            yield part.func.value, statement, True
        elif isinstance(part.func, (ast.Name, ast.Attribute)) and _last_name(part.func) in ("heappush", "setattr"):
            yield from ((argument, statement, True) for argument in part.args[:1])


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _parts(item)
    elif isinstance(target, ast.Starred):
        yield from _parts(target.value)
    else:
        yield target


def _last_name(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
