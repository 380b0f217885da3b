"""Takes statements out, or makes a thrown-away result count."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.inplace_names import DROP_UNDERSCORE, words
from gradsense.fixes.layout import comment_of, delete_lines, ends_line, indentation, insertion, is_elif, start_of
from gradsense.fixes.torch_names import is_torch_function
from gradsense.fixes.tree import ancestors, block_of, last_line, may_not_repeat, read_after, stored_names
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

# Methods of a tensor, beside those with an in-place twin, whose result is a tensor.
_TENSOR_METHODS = DROP_UNDERSCORE | words(
    """
    bfloat16 bool byte char clone contiguous cpu cuda double expand expand_as flatten flip float half int long mean
    narrow norm permute relu repeat reshape roll softmax log_softmax sum to type unflatten view view_as
    """
)


def remove_statement(source: Source, tree: ast.Module, statement: ast.stmt) -> Edits | None:
    """Takes a statement out, with its line and the comment behind it, or leaves `pass` where its block would be empty.

    Returns:
        None for an `elif`.
    """
    return remove_statements(source, tree, [statement])


def remove_statements(source: Source, tree: ast.Module, statements: Sequence[ast.stmt]) -> Edits | None:
    """Takes several statements out; a block that would be empty keeps a `pass`.

    Returns:
        None for an `elif`, or where two of the statements share a line with others.
    """
    gone = {id(statement) for statement in statements}
    parts: list[Edits | None] = []
    for statement in statements:
        block = block_of(tree, statement)
        if block is None or is_elif(source, statement):
            return None
        emptied = not isinstance(block.owner, ast.Module) and all(id(one) in gone for one in block.statements)
        if emptied and statement is block.statements[0]:
            span = Span(*start_of(source, statement), *source.span_of(statement).end)
            parts.append((TextEdit(source.path, span, "pass"),))
        else:
            parts.append(_without(source, block.statements, block.index))
    return combine(*parts)


def assign_result(source: Source, tree: ast.Module, statement: ast.Expr, *, items: bool = False) -> Edits | None:
    """Gives a thrown-away result back to what it was computed from: `h.detach()` becomes `h = h.detach()`.

    Args:
        statement: the call as a statement.
        items: whether a subscript is an item of a list or dict, which may be assigned to, and not a part of a tensor.

    Returns:
        None where there is nothing to assign to, or only a loop's variable that nobody reads again.
    """
    target = _computed_from(tree, statement.value)
    kinds = ast.Name | ast.Attribute | ast.Subscript if items else ast.Name | ast.Attribute
    if not isinstance(target, kinds) or may_not_repeat(target):
        return None
    is_variable = isinstance(target, ast.Name) and _is_loop_variable(tree, statement, target.id)
    if isinstance(target, ast.Name) and is_variable and not read_after(tree, statement, target.id):
        return None
    name = source.slice(source.span_of(target))
    return (insertion(source, source.span_of(statement).start, f"{name} = "),)


def _without(source: Source, statements: Sequence[ast.stmt], index: int) -> Edits:
    statement = statements[index]
    first, last = start_of(source, statement)[0], last_line(statement)
    begins, ends = indentation(source, statement) is not None, ends_line(source, statement)
    if begins and ends:
        return (delete_lines(source, first, last),)
    span = source.span_of(statement)
    if ends and index > 0:
        rest = len(source.lines[last - 1]) if comment_of(source, statement) is None else span.end_column
        return (TextEdit(source.path, Span(*source.span_of(statements[index - 1]).end, last, rest), ""),)
    following = source.span_of(statements[index + 1]).start if index + 1 < len(statements) else span.end
    return (TextEdit(source.path, Span(*span.start, *following), ""),)


def _computed_from(tree: ast.Module, value: ast.expr) -> ast.expr | None:
    """The tensor at the root of a chain of tensor methods, or the first argument of a function of torch."""
    current = value
    while isinstance(current, ast.Call):
        if is_torch_function(tree, current.func):
            return current.args[0] if current.args else None
        if not isinstance(current.func, ast.Attribute):
            return None
        if current is not value and current.func.attr not in _TENSOR_METHODS:
            return None
        current = current.func.value
    return None if current is value else current


def _is_loop_variable(tree: ast.Module, statement: ast.stmt, name: str) -> bool:
    loops = [parent for parent in ancestors(tree, statement) if isinstance(parent, ast.For | ast.AsyncFor)]
    return any(name in stored_names(loop.target) for loop in loops)
