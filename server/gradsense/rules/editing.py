"""From a place of the story to the tree that an edit needs, and from edits to a fix."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar, cast

from gradsense.fixes.fix import Applicability, Edits, Fix
from gradsense.fixes.tree import Block, FunctionNode, ancestors, block_of, scope_of, statement_of, stored_names
from gradsense.machine.place import Place
from gradsense.machine.trees import nodes_of
from gradsense.syntax.parse import ParsedModule, parse
from gradsense.syntax.source import Source

N = TypeVar("N", bound=ast.AST)
Loop = ast.For | ast.AsyncFor | ast.While
_Position = tuple[type[ast.AST], int, int, int | None, int | None]


@dataclass(eq=False)
class Code:
    """One file as edits need it.

    Args:
        source: its text.
        tree: its tree, whose nodes an edit takes. Nodes of the story come from another tree of the same text; `twin`
            finds them here.
    """

    source: Source
    tree: ast.Module

    @cached_property
    def _nodes(self) -> dict[_Position, ast.AST]:
        found: dict[_Position, ast.AST] = {}
        for node in nodes_of(self.tree):
            if hasattr(node, "lineno"):
                found.setdefault(_position(node), node)
        return found

    def twin(self, node: N) -> N | None:
        """The node of this tree that stands where `node` does, or None where there is none."""
        if not hasattr(node, "lineno"):
            return cast("N", self.tree) if isinstance(node, ast.Module) else None
        position = _position(node)
        return cast("N | None", _at(self.tree, position) or self._nodes.get(position))

    def expression(self, node: ast.AST | None) -> ast.expr | None:
        """The twin of an expression; the expression of a statement that is nothing else."""
        found = self.twin(node) if node is not None else None
        if isinstance(found, ast.Expr):
            return found.value
        return found if isinstance(found, ast.expr) else None

    def statement(self, node: ast.AST | None) -> ast.stmt | None:
        """The innermost statement around the twin of a node."""
        found = self.twin(node) if node is not None else None
        return statement_of(self.tree, found) if found is not None else None

    def ancestors(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """What is around a node of this tree, from the module down to its parent."""
        return ancestors(self.tree, node)

    def block(self, statement: ast.stmt) -> Block | None:
        """The block that a statement of this tree is in."""
        return block_of(self.tree, statement)

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The function around a node of this tree."""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        return next((f for f in reversed(self.ancestors(node)) if isinstance(f, functions)), None)

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops around a node of this tree within its function, the innermost first."""
        found: list[Loop] = []
        for around in reversed(self.ancestors(node)):
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                break
            if isinstance(around, ast.For | ast.AsyncFor | ast.While):
                found.append(around)
        return found

    def rebinds(self, node: ast.AST, name: str) -> bool:
        """Whether assigning to a name where `node` is gives the variable that is read there a new value.

        It would not in a function that only reads a name from outside: the assignment makes the name its own.
        """
        scope = scope_of(self.tree, node)
        if isinstance(scope, ast.Module):
            return True
        if isinstance(scope, ast.ClassDef | ast.Lambda):
            return False
        arguments = {child.arg for child in ast.walk(scope.args) if isinstance(child, ast.arg)}
        outer = {n for child in ast.walk(scope) if isinstance(child, ast.Global | ast.Nonlocal) for n in child.names}
        return name in arguments or name in outer or name in stored_names(scope)

    def text(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.source.slice(self.source.span_of(node))


# Files that are being checked and were parsed for that, newest last.
_PARSED: dict[Source, tuple[str, Code]] = {}
_MOST_PARSED = 4


def is_parsed(modules: Iterable[ParsedModule]) -> None:
    """Takes the trees of files for the fixes in them; they stay as they are as long as their findings are made."""
    for module in modules:
        _PARSED.pop(module.source, None)
        _PARSED[module.source] = (module.source.text, Code(module.source, module.tree))
    while len(_PARSED) > _MOST_PARSED:
        del _PARSED[next(iter(_PARSED))]


def code_of(place: Place) -> Code:
    """The file of a place, parsed once for all fixes in it."""
    source = place.source
    text, known = _PARSED.get(source, (None, None))
    # While somebody types, the same source has one text after another.
    return known if known is not None and text == source.text else _code(source, source.text)


@lru_cache(maxsize=4)
def _code(source: Source, text: str) -> Code:
    del text
    return Code(source, parse(source).tree)


def safe(title: str, edits: Edits | None) -> Iterator[Fix]:
    """A fix after which the program computes the same, apart from the fault; none where there are no edits."""
    if edits:
        yield Fix(title, Applicability.SAFE, edits)


def unsafe(title: str, edits: Edits | None) -> Iterator[Fix]:
    """A fix that may change results; none where there are no edits."""
    if edits:
        yield Fix(title, Applicability.UNSAFE, edits)


def _at(tree: ast.AST, position: _Position) -> ast.AST | None:
    """The node at a position, looked for only in what is around it: a file is long, and a fix asks for few nodes."""
    line = position[1]
    around = [tree]
    for node in around:
        for child in ast.iter_child_nodes(node):
            if not hasattr(child, "lineno"):
                around.append(child)
                continue
            found = _position(child)
            if found == position:
                return child
            decorated = getattr(child, "decorator_list", None)
            first = decorated[0].lineno if decorated else found[1]
            if first <= line <= (found[3] or line):
                around.append(child)
    return None


def _position(node: ast.AST) -> _Position:
    where = cast("ast.expr", node)
    return (type(node), where.lineno, where.col_offset, where.end_lineno, where.end_col_offset)
