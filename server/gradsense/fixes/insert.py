"""Puts a new statement before or after one that is there."""

from __future__ import annotations

import ast

from gradsense.fixes.fix import Edits
from gradsense.fixes.layout import ends_line, indentation, insertion, is_elif, start_of
from gradsense.fixes.tree import block_of, may_not_repeat
from gradsense.syntax.edits import split_lines
from gradsense.syntax.source import Source


def insert_before(source: Source, tree: ast.Module, statement: ast.stmt, code: str) -> Edits | None:
    """Puts `code` on lines of its own before a statement, or `code;` where the statement does not begin its line.

    Args:
        statement: the statement; decorators count as part of it.
        code: one statement, or several lines with no common indentation.

    Returns:
        None before an `elif`, or where several lines would have to share one with others.
    """
    if is_elif(source, statement) or block_of(tree, statement) is None:
        return None
    place = start_of(source, statement)
    indent = indentation(source, statement)
    lines = split_lines(code)
    if indent is not None:
        text = source.newline.join([lines[0], *(f"{indent}{line}" if line else "" for line in lines[1:]), indent])
        return (insertion(source, place, text),)
    return (insertion(source, place, f"{code}; "),) if len(lines) == 1 else None


def insert_after(source: Source, tree: ast.Module, statement: ast.stmt, code: str) -> Edits | None:
    """Puts `code` on lines of its own after a statement, or `; code` where others share the statement's line.

    Args:
        statement: the statement; its trailing comment stays on its line.
        code: one statement, or several lines with no common indentation.

    Returns:
        None after `return`, `raise`, `break` and `continue`, or where several lines would have to share one.
    """
    block = block_of(tree, statement)
    if block is None or isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return None
    span = source.span_of(statement)
    lines = split_lines(code)
    indent = indentation(source, block.statements[0])
    if indent is not None and ends_line(source, statement):
        text = "".join(f"{source.newline}{indent if line else ''}{line}" for line in lines)
        return (insertion(source, (span.end_line, len(source.lines[span.end_line - 1])), text),)
    return (insertion(source, span.end, f"; {code}"),) if len(lines) == 1 else None


def insert_zero_grad(source: Source, tree: ast.Module, backward: ast.stmt, optimizer: str) -> Edits | None:
    """Puts `optimizer.zero_grad()` before the statement that walks the graph."""
    return insert_before(source, tree, backward, f"{optimizer}.zero_grad()")


def clone_before(source: Source, tree: ast.Module, statement: ast.stmt, tensor: ast.expr) -> Edits | None:
    """Puts `x = x.clone()` before the statement that writes to `x`, or before the loop around it.

    Args:
        statement: what the copy has to precede.
        tensor: the name or attribute that is written to, such as `written_tensor` finds it.

    Returns:
        None where the tensor is not something to assign to.
    """
    if not isinstance(tensor, ast.Name | ast.Attribute) or may_not_repeat(tensor):
        return None
    name = source.slice(source.span_of(tensor))
    return insert_before(source, tree, statement, f"{name} = {name}.clone()")


def detach_before(source: Source, tree: ast.Module, statement: ast.stmt, value: ast.expr) -> Edits | None:
    """Puts `h = h.detach()` before a statement; None where `h` is not something to assign to."""
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript) or may_not_repeat(value):
        return None
    name = source.slice(source.span_of(value))
    return insert_before(source, tree, statement, f"{name} = {name}.detach()")


def detach_after(source: Source, tree: ast.Module, statement: ast.stmt, value: ast.expr) -> Edits | None:
    """Puts `h = h.detach()` after a statement; None where `h` is not something to assign to."""
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript) or may_not_repeat(value):
        return None
    name = source.slice(source.span_of(value))
    return insert_after(source, tree, statement, f"{name} = {name}.detach()")
