"""Turns a tensor of one element into a Python number where it is stored: `total += loss` → `total += loss.item()`."""

from __future__ import annotations

import ast

import libcst as cst

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.precedence import method_call
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.tree import mentions, same_expression
from gradsense.fixes.values import has_no_graph_form, is_number
from gradsense.syntax.source import Source

# `.item()` alone does what these do before it.
_NEEDLESS = ("detach", "cpu", "clone", "contiguous")
_STORES = {"append": 0, "appendleft": 0, "add": 0, "put": 0, "push": 0, "insert": 1, "update": 0}


def scalarise(source: Source, tree: ast.Module, *expressions: ast.expr) -> Edits | None:
    """Turns each expression into the number it holds, `expression.item()`.

    `loss.detach()` becomes `loss.item()`, `loss * x.size(0)` becomes `loss.item() * x.size(0)`, `a * loss` becomes
    `(a * loss).item()`, and each branch of a conditional is treated by itself.

    Returns:
        None where one of the expressions is a number already, or cannot have a method.
    """
    parts = [part for expression in expressions for part in _tensor_parts(expression)]
    if not parts:
        return None
    return combine(*(_item(source, tree, part) for part in parts))


def stored_parts(statement: ast.stmt) -> tuple[ast.expr, ...]:
    """The values that a statement adds to, or stores in, something that outlives the step.

    These are `loss` in `total += loss`, `total = total + loss`, `losses.append(loss)` and `log["loss"] = loss`, and
    `0.1 * loss` in `ema = 0.9 * ema + 0.1 * loss`.

    Returns:
        The terms other than the running value itself; empty where the statement stores nothing.
    """
    if isinstance(statement, ast.AugAssign):
        return (statement.value,)
    if isinstance(statement, ast.AnnAssign):
        return () if statement.value is None else (statement.value,)
    if isinstance(statement, ast.Assign):
        targets = statement.targets
        terms = _terms(statement.value)
        others = [term for term in terms if not any(mentions(term, target) for target in targets)]
        return tuple(others) if 0 < len(others) < len(terms) else (statement.value,)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        position = _STORES.get(call.func.attr) if isinstance(call.func, ast.Attribute) else None
        if position is not None and position < len(call.args):
            return (call.args[position],)
    return ()


def is_running_total(statement: ast.stmt) -> bool:
    """Whether a statement adds to what it assigns: `t += x`, `t = t + x`, `t = x + t`."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add | ast.Sub)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    return any(same_expression(term, statement.targets[0]) for term in _terms(statement.value))


def _terms(expression: ast.expr) -> list[ast.expr]:
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add | ast.Sub):
        return [*_terms(expression.left), *_terms(expression.right)]
    return [expression]


def _tensor_parts(expression: ast.expr) -> list[ast.expr]:
    """The parts of an expression that are to become numbers, so that the whole becomes one."""
    if isinstance(expression, ast.IfExp):
        return [*_tensor_parts(expression.body), *_tensor_parts(expression.orelse)]
    if isinstance(expression, ast.BinOp):
        if is_number(expression.right):
            return _tensor_parts(expression.left)
        if is_number(expression.left):
            return _tensor_parts(expression.right)
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub | ast.UAdd):
        return _tensor_parts(expression.operand)
    return [] if is_number(expression) else [expression]


def _item(source: Source, tree: ast.Module, expression: ast.expr) -> Edits | None:
    if has_no_graph_form(expression):
        return None
    excerpt = Excerpt.around(source, tree, expression)
    found = excerpt.expression(expression) if excerpt else None
    if excerpt is None or found is None:
        return None
    # Not at the top: it would load libcst.
    import libcst.matchers as m

    bare = found
    while True:
        if m.matches(bare, m.Call(func=m.Attribute(attr=m.OneOf(*map(m.Name, _NEEDLESS))), args=[])):
            assert isinstance(bare, cst.Call) and isinstance(bare.func, cst.Attribute)
            inner = bare.func.value
        elif m.matches(bare, m.Attribute(attr=m.Name("data"))):
            assert isinstance(bare, cst.Attribute)
            inner = bare.value
        else:
            break
        bare = inner.with_changes(lpar=bare.lpar, rpar=bare.rpar) if bare.lpar and not inner.lpar else inner
    return excerpt.replace((found, method_call(bare, "item")))
