"""Puts a method call behind an expression, takes the last one off, or names another function."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from gradsense.fixes.fix import Edits
from gradsense.fixes.keywords import without_argument
from gradsense.fixes.precedence import method_call
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.values import has_no_graph_form
from gradsense.syntax.source import Source


def call_method(source: Source, tree: ast.Module, expression: ast.expr, *methods: str) -> Edits | None:
    """Turns an expression into `expression.method()`, with brackets where it needs them.

    Args:
        expression: what gets the method.
        methods: the names, called one after the other without arguments.

    Returns:
        None where the expression is a target, a display or a literal, or libcst cannot read it.
    """
    excerpt = Excerpt.around(source, tree, expression)
    found = excerpt.expression(expression) if excerpt else None
    if excerpt is None or found is None or has_no_graph_form(expression):
        return None
    return excerpt.replace((found, method_call(found, *methods)))


def drop_last(source: Source, tree: ast.Module, expression: ast.expr) -> Edits | None:
    """Takes the last method call or attribute off an expression: `loss.item()` becomes `loss`, `x.data` becomes `x`.

    Returns:
        None where the expression ends in neither.
    """
    excerpt = Excerpt.around(source, tree, expression)
    found = excerpt.expression(expression) if excerpt else None
    attribute = found.func if isinstance(found, cst.Call) else found
    if excerpt is None or found is None or not isinstance(attribute, cst.Attribute):
        return None
    inner = attribute.value
    if found.lpar and not inner.lpar:
        inner = inner.with_changes(lpar=found.lpar, rpar=_with_comment(found.rpar, attribute.dot.whitespace_before))
    return excerpt.replace((found, inner))


def _with_comment(
    brackets: Sequence[cst.RightParen], space: cst.BaseParenthesizableWhitespace
) -> Sequence[cst.RightParen]:
    """The closing brackets, with the comment that stood before a dropped `.method()`."""
    own = brackets[0].whitespace_before
    if not isinstance(space, cst.ParenthesizedWhitespace) or not isinstance(own, cst.ParenthesizedWhitespace):
        return brackets
    if space.first_line.comment is None or own.first_line.comment is not None:
        return brackets
    commented = own.with_changes(first_line=space.first_line)
    return [brackets[0].with_changes(whitespace_before=commented), *brackets[1:]]


def rename_method(source: Source, tree: ast.Module, call: ast.Call, name: str) -> Edits | None:
    """Calls another method of the same object with the same arguments: `loss.item()` becomes `loss.detach()`.

    Returns:
        None where the call is not one of a method, or is that already.
    """
    excerpt = Excerpt.around(source, tree, call)
    found = excerpt.expression(call) if excerpt else None
    if excerpt is None or not isinstance(found, cst.Call) or not isinstance(found.func, cst.Attribute):
        return None
    return excerpt.replace((found.func.attr, cst.Name(name)))


def call_instead(
    source: Source, tree: ast.Module, call: ast.Call, function: str, without: tuple[str, ...] = ()
) -> Edits | None:
    """Calls another function with the same arguments: `torch.tensor(ls, requires_grad=True)` → `torch.stack(ls)`.

    Args:
        call: the call.
        function: the text of the other function.
        without: keywords that the other function does not get.
    """
    excerpt = Excerpt.around(source, tree, call)
    found = excerpt.expression(call) if excerpt else None
    if excerpt is None or not isinstance(found, cst.Call):
        return None
    new = found.with_changes(func=cst.parse_expression(function))
    for keyword in without:
        new = without_argument(new, keyword) or new
    return excerpt.replace((found, new))


def require_grad_last(source: Source, tree: ast.Module, expression: ast.expr, call: ast.Call) -> Edits | None:
    """Makes the result the leaf: `randn(4, requires_grad=True) * 0.1` becomes `(randn(4) * 0.1).requires_grad_()`.

    Args:
        expression: the whole expression.
        call: the call within it that has `requires_grad=True`.

    Returns:
        None where the call has no such keyword.
    """
    excerpt = Excerpt.around(source, tree, expression)
    whole = excerpt.expression(expression) if excerpt else None
    made = excerpt.expression(call) if excerpt else None
    if excerpt is None or whole is None or not isinstance(made, cst.Call) or whole is made:
        return None
    without = without_argument(made, "requires_grad")
    if without is None:
        return None
    changed = whole.deep_replace(made, without)
    assert isinstance(changed, cst.BaseExpression)
    return excerpt.replace((whole, method_call(changed, "requires_grad_")))


def replace_expression(source: Source, tree: ast.Module, expression: ast.expr, code: str) -> Edits | None:
    """Puts other text in an expression's place, as the smallest edit.

    Returns:
        None where the text is the same, or libcst cannot read the expression.
    """
    excerpt = Excerpt.around(source, tree, expression)
    found = excerpt.expression(expression) if excerpt else None
    if excerpt is None or found is None:
        return None
    return excerpt.replace((found, cst.parse_expression(code)))
