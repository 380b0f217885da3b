"""A bound on how deep a tree may be, so that whoever walks it recursively cannot run out of stack."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradsense.syntax.source import UNKNOWN
from gradsense.syntax.spans import Problem

# No expression is deeper than this, and no chain of `elif` longer.
MAX_DEPTH = 150
_TOO_DEEP = f"an expression here is nested more than {MAX_DEPTH} deep and is taken for unknown"


def limit_depth(tree: ast.Module, lines: Sequence[str]) -> list[Problem]:
    """Replace each expression deeper than MAX_DEPTH by an unknown name, and cut longer `elif` chains.

    Looks into an expression only where its text is long enough to be that deep.
    """
    problems: list[Problem] = []
    stack: list[tuple[list[ast.stmt], int]] = [(tree.body, 0)]
    while stack:
        body, chain = stack.pop()
        for statement in body:
            for name in ("body", "finalbody"):
                inner = getattr(statement, name, None)
                if inner:
                    stack.append((inner, 0))
            for handler in getattr(statement, "handlers", ()):
                stack.append((handler.body, 0))
                if _may_be_deep(handler, lines) and _flatten(handler):
                    problems.append(_problem(handler, _TOO_DEEP))
            for case in getattr(statement, "cases", ()):
                stack.append((case.body, 0))
            orelse = getattr(statement, "orelse", None)
            if orelse:
                length = chain + 1 if isinstance(statement, ast.If) and isinstance(orelse[0], ast.If) else 0
                if length >= MAX_DEPTH:
                    problems.append(_problem(orelse[0], f"the branches behind {MAX_DEPTH} `elif` are left out"))
                    statement.orelse = []  # type: ignore[attr-defined]
                else:
                    stack.append((orelse, length))
            if _may_be_deep(statement, lines) and _flatten(statement):
                problems.append(_problem(statement, _TOO_DEEP))
    return problems


def _problem(node: ast.stmt | ast.excepthandler, message: str) -> Problem:
    return Problem(node.lineno, message, node.end_lineno or node.lineno)


def _may_be_deep(statement: ast.stmt | ast.excepthandler, lines: Sequence[str]) -> bool:
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    decorators = getattr(statement, "decorator_list", None)
    if decorators:
        first = decorators[0].lineno
    if first == last:
        return (statement.end_col_offset or 0) - statement.col_offset > MAX_DEPTH
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return False
    body = getattr(statement, "body", None)
    if body and isinstance(body, list):
        # Only the header is this statement's own.
        last = body[0].lineno
    return sum(map(len, lines[first - 1 : last])) > MAX_DEPTH


def _flatten(node: ast.AST) -> bool:
    """Replace the deep expressions right below `node`; True if there were any."""
    found = False
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            for index, item in enumerate(value):
                replacement = _replacement(item)
                if replacement is not None:
                    value[index] = replacement
                found = found or replacement is not None or (_is_inner(item) and _flatten(item))
        else:
            replacement = _replacement(value)
            if replacement is not None:
                setattr(node, name, replacement)
            found = found or replacement is not None or (_is_inner(value) and _flatten(value))
    return found


def _is_inner(value: object) -> bool:
    """True for what carries a statement's expressions without being one: arguments, keywords, cases and so on."""
    return isinstance(value, ast.AST) and not isinstance(
        value, (ast.stmt, ast.expr, ast.pattern, ast.excepthandler, ast.expr_context)
    )


def _replacement(value: object) -> ast.expr | ast.pattern | None:
    if isinstance(value, ast.expr) and _is_deep(value):
        return ast.copy_location(ast.Name(UNKNOWN, getattr(value, "ctx", ast.Load())), value)
    if isinstance(value, ast.pattern) and _is_deep(value):
        return ast.copy_location(ast.MatchAs(), value)
    return None


def _is_deep(node: ast.AST) -> bool:
    level = [node]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return False
    return True
