"""Where a step can be run: at training loops, and at cells in which a graph is walked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.keywords import callee_name
from gradsense.lsp.held import Held, source_of
from gradsense.lsp.messages import Lenses, Place, RunPlace
from gradsense.syntax import Cell, Source, parse
from gradsense.syntax.cells import marked_cells

_WALKS = frozenset({"backward", "manual_backward"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def find_lenses(held: Held) -> Lenses:
    """The outermost loops around walks, each in its function; in a notebook or a script with cells, their cells.

    Calling a function of the file in which a graph is walked counts as walking it.
    """
    source = source_of(held.request)
    tree = parse(source).tree
    walkers = _walkers(tree)
    cells = source.cells or marked_cells(source)
    lines = _cells(cells, tree, walkers) if cells else [loop.lineno for loop in _loops(tree, walkers)]
    return Lenses(tuple(_place(held, source, line) for line in sorted(set(lines))))


def _place(held: Held, source: Source, line: int) -> RunPlace:
    cell = source.cell_of(line)
    names = {one.index: one.name for one in held.request.cells or ()}
    if cell is None:
        return RunPlace(source.path, Place(line - 1, 0, line - 1, 0))
    local = line - cell.first_line
    return RunPlace(names[cell.index], Place(local, 0, local, 0))


def _cells(cells: tuple[Cell, ...], tree: ast.Module, walkers: frozenset[str]) -> Iterator[int]:
    """The first lines of cells whose own statements walk, rather than functions that they define."""
    lines = [s.lineno for s in tree.body if not isinstance(s, (*_FUNCTIONS, ast.ClassDef)) and _walks(s, walkers)]
    return (cell.first_line for cell in cells if any(cell.first_line <= line <= cell.last_line for line in lines))


def _loops(node: ast.AST, walkers: frozenset[str]) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _LOOPS) and _walks(child, walkers):
            yield child
        else:
            yield from _loops(child, walkers)


def _walkers(tree: ast.Module) -> frozenset[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(function.name for function in functions if _walks(function, found))
        if more == found:
            return found
        found = more


def _walks(node: ast.AST, walkers: frozenset[str]) -> bool:
    return any(isinstance(part, ast.Call) and _is_walk(part, walkers) for part in ast.walk(node))


def _is_walk(call: ast.Call, walkers: frozenset[str]) -> bool:
    name, func = callee_name(call), call.func
    own = isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self")
    gradient = name == "grad" and isinstance(func, ast.Attribute) and "autograd" in ast.unparse(func)
    return name in _WALKS or (own and name in walkers) or gradient
