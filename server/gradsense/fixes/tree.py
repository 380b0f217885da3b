"""Questions about Python's own tree: what surrounds a node, which block a statement is in, who reads a name later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class Block:
    """The list of statements that a statement is in.

    Args:
        statements: the block, in the order of the text.
        index: where the statement stands in it.
        owner: whose block it is: a loop, a function, the module, an exception handler.
    """

    statements: list[ast.stmt]
    index: int
    owner: ast.AST


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt | ast.expr) -> int:
    """The line on which a node ends."""
    return node.end_lineno or node.lineno


def ancestors(tree: ast.Module, node: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes around `node`, from the module down to its parent; empty where the tree does not hold it."""
    line = getattr(node, "lineno", None)
    path: list[ast.AST] = [tree]
    pending = [ast.iter_child_nodes(tree)]
    while pending:
        child = next(pending[-1], None)
        if child is node:
            return tuple(path)
        if child is None:
            pending.pop()
            path.pop()
        elif line is None or not isinstance(child, ast.stmt) or first_line(child) <= line <= last_line(child):
            path.append(child)
            pending.append(ast.iter_child_nodes(child))
    return ()


def statement_of(tree: ast.Module, node: ast.AST) -> ast.stmt | None:
    """The innermost statement around `node`, or `node` itself where it is one."""
    if isinstance(node, ast.stmt):
        return node
    around = [parent for parent in ancestors(tree, node) if isinstance(parent, ast.stmt)]
    return around[-1] if around else None


def block_of(tree: ast.Module, statement: ast.stmt) -> Block | None:
    """The block that a statement of the tree is in."""
    around = ancestors(tree, statement)
    if not around:
        return None
    owner = around[-1]
    for field in _BLOCKS:
        statements = getattr(owner, field, None)
        if isinstance(statements, list):
            for index, candidate in enumerate(statements):
                if candidate is statement:
                    return Block(statements, index, owner)
    return None


def header_of(statement: ast.stmt) -> list[ast.AST]:
    """A simple statement itself; of a compound one, the parts before its blocks."""
    if not hasattr(statement, "body"):
        return [statement]
    blocks = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, blocks)]


def scope_of(tree: ast.Module, node: ast.AST) -> Scope:
    """The function, class or module whose names `node` uses."""
    return next((parent for parent in reversed(ancestors(tree, node)) if isinstance(parent, _SCOPES)), tree)


def loaded_names(node: ast.AST) -> set[str]:
    """The names that a node reads; the target of an augmented assignment counts as read."""
    loaded = {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}
    for child in ast.walk(node):
        if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            loaded.add(child.target.id)
    return loaded


def stored_names(node: ast.AST) -> set[str]:
    """The names that a node binds or deletes: assignments, definitions, imports."""
    stored: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            stored.add(child.id)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stored.add(child.name)
        elif isinstance(child, ast.alias):
            stored.add((child.asname or child.name).split(".")[0])
    return stored


def same_expression(one: ast.AST, other: ast.AST) -> bool:
    """Whether two expressions are written with the same tokens; reading and writing count as the same."""
    return _spelling(one) == _spelling(other)


def mentions(node: ast.AST, expression: ast.expr) -> bool:
    """Whether `expression` occurs within `node`."""
    return any(isinstance(child, ast.expr) and same_expression(child, expression) for child in ast.walk(node))


def may_not_repeat(expression: ast.expr) -> bool:
    """Whether evaluating an expression twice could differ from evaluating it once."""
    once = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)
    return any(isinstance(child, once) for child in ast.walk(expression))


def _spelling(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def read_after(tree: ast.Module, statement: ast.stmt, name: str) -> bool:
    """Whether `name`, as it stands after `statement`, may be read again before something binds it anew.

    Errs on the side of yes: closures, class bodies and names declared global count as readers.
    """
    scope = scope_of(tree, statement)
    if isinstance(scope, ast.ClassDef) or _escapes(scope, name):
        return True
    current: ast.AST = statement
    for owner in reversed(ancestors(tree, statement)):
        if isinstance(current, ast.stmt | ast.ExceptHandler | ast.match_case):
            outcome = _after_in(owner, current, name)
            if outcome is not None:
                return outcome
        if owner is scope:
            return False
        current = owner
    return False


def _escapes(scope: Scope, name: str) -> bool:
    for child in ast.walk(scope):
        if isinstance(child, ast.Global | ast.Nonlocal) and name in child.names:
            return True
        if child is not scope and isinstance(child, _SCOPES) and name in loaded_names(child):
            parameters = getattr(child, "args", None)
            if not (isinstance(parameters, ast.arguments) and name in _parameter_names(parameters)):
                return True
    return False


def _parameter_names(arguments: ast.arguments) -> set[str]:
    return {child.arg for child in ast.walk(arguments) if isinstance(child, ast.arg)}


def _after_in(owner: ast.AST, current: ast.AST, name: str) -> bool | None:
    """What becomes of `name` after `current` within its owner: read (True), bound anew (False), or neither (None)."""
    statements = next((block for block in _blocks(owner) if any(child is current for child in block)), [])
    index = next((i for i, child in enumerate(statements) if child is current), len(statements))
    # Of the cases of a `match`, only one runs.
    outcome = None if isinstance(current, ast.match_case) else _first_use(statements[index + 1 :], name)
    handlers: list[ast.AST] | None = getattr(owner, "handlers", None)
    if handlers is not None:
        later = [child for block in _blocks(owner) if block is not getattr(owner, "body", None) for child in block]
        if outcome is not True and any(name in loaded_names(child) for child in later if child is not current):
            return True
        return outcome
    if outcome is not None or not isinstance(owner, ast.For | ast.AsyncFor | ast.While):
        return outcome
    if statements is owner.body:
        if not isinstance(owner, ast.While) and name in stored_names(owner.target):
            again: bool | None = False
        elif isinstance(owner, ast.While) and name in loaded_names(owner.test):
            again = True
        else:
            again = _first_use(owner.body[: index + 1], name)
        if again:
            return True
        return _first_use(owner.orelse, name)
    return None


def _blocks(owner: ast.AST) -> Iterator[list[ast.AST]]:
    for field in _BLOCKS:
        block = getattr(owner, field, None)
        if isinstance(block, list):
            yield block


def _first_use(statements: list[ast.stmt] | list[ast.AST], name: str) -> bool | None:
    for statement in statements:
        if name in loaded_names(statement):
            return True
        simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.Delete | ast.Import | ast.ImportFrom)
        if simple and name in stored_names(statement):
            return False
        if isinstance(statement, ast.Return | ast.Raise):
            return False
    return None
