"""Walking syntax trees, faster than the standard library does, and keeping what was found out about definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from gradsense.syntax.parse import ParsedModule

_NOTES: list[WeakKeyDictionary[Any, Any]] = []


def notes() -> WeakKeyDictionary[Any, Any]:
    """A place for what was found out about definitions, for as long as their trees live and stay as they are."""
    made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
    _NOTES.append(made)
    return made


# Whether functions set a variable of their module.
_GLOBALS: WeakKeyDictionary[ast.AST, bool] = notes()


def forget(definitions: Iterable[ast.AST]) -> None:
    """Drops what was found out about functions that changed in place, and about what is defined in them."""
    for definition in definitions:
        for node in definitions_in(definition):
            for kept in _NOTES:
                kept.pop(node, None)


def forget_level(tree: ast.Module) -> None:
    """Drops what was found out about a module level that changed in place."""
    for kept in _NOTES:
        kept.pop(tree, None)


def definitions_in(definition: ast.AST) -> list[ast.AST]:
    """A function, and the functions and classes that are defined in it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return [node for node in nodes_of(definition) if isinstance(node, kinds)]


# Fields that hold no expressions or statements: what a name is used for, which operator it is, text.
_NO_NODES = frozenset("ctx op ops id attr arg module level type_comment kind conversion simple is_async".split())
_PARTS: dict[type, tuple[str, ...]] = {}


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """The node itself and all below it, in no particular order; without operators and what names are used for."""
    found = [tree]
    for node in found:
        kind = type(node)
        parts = _PARTS.get(kind)
        if parts is None:
            parts = _PARTS[kind] = tuple(name for name in kind._fields if name not in _NO_NODES)
        for name in parts:
            value = getattr(node, name, None)
            if type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


# Statements with others inside, apart from functions.
_BLOCKS = frozenset(
    kind
    for kind in ast.stmt.__subclasses__()
    if {"body", "cases"} & {*kind._fields} and kind not in (ast.FunctionDef, ast.AsyncFunctionDef)
)


def statements_in(body: Iterable[ast.stmt], *, classes: bool = False) -> list[ast.stmt]:
    """Statements, and those in their blocks; not those in functions.

    Args:
        classes: whether those in classes are wanted as well.
    """
    found = list(body)
    for statement in found:
        if type(statement) not in _BLOCKS or (isinstance(statement, ast.ClassDef) and not classes):
            continue
        for name in ("body", "orelse", "finalbody"):
            found += getattr(statement, name, ())
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            found += part.body
    return found


def is_main_guard(statement: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":` over nothing but calls, so that it defines nothing."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.test, ast.Compare):
        return False
    sides = [statement.test.left, *statement.test.comparators]
    names = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    main = any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
    calls = all(isinstance(part, ast.Expr) for part in statement.body)
    return len(sides) == 2 and names and main and isinstance(statement.test.ops[0], ast.Eq) and calls


def names_set(statement: ast.stmt) -> set[str]:
    """The variables that a statement and what is inside of it set."""
    return {n.id for n in nodes_of(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def declares_globals(program: ParsedModule) -> bool:
    """Whether a function of the file may set a variable of the module."""
    if "global " not in program.source.text:
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(s, functions) and _sets_global(s) for s in statements_in(program.tree.body, classes=True))


def _sets_global(function: ast.AST) -> bool:
    if function not in _GLOBALS:
        _GLOBALS[function] = any(isinstance(node, ast.Global) for node in nodes_of(function))
    return _GLOBALS[function]
