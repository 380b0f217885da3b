"""Puts statements under a `with`, or a decorator on a function."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.imports import import_torch
from gradsense.fixes.layout import ends_line, indent_unit, indentation, insertion, is_elif, start_of
from gradsense.fixes.strings import lines_inside_strings
from gradsense.fixes.suite import own_lines
from gradsense.fixes.torch_names import spelling
from gradsense.fixes.tree import Block, FunctionNode, block_of, last_line
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source


def wrap_in(
    source: Source, tree: ast.Module, statements: Sequence[ast.stmt], context: str = "torch.no_grad"
) -> Edits | None:
    """Puts consecutive statements of one block under `with torch.no_grad():`.

    Comments between them are indented with them, the text of strings is not. torch is spelt as the file spells it, and
    imported where the file does not.

    Args:
        statements: the statements, in the order of the text; at least one.
        context: the dotted name in torch that is called to make the context.

    Returns:
        None where the statements are not neighbours, yield out of the block, or stand where no line can be made.
    """
    if not statements or any(_yields(statement) for statement in statements):
        return None
    name = spelling(tree, statements[0], context)
    imported: Edits | None = () if name is not None else import_torch(source, tree)
    return combine(imported, put_under(source, tree, statements, f"with {name or context}():"))


def put_under(source: Source, tree: ast.Module, statements: Sequence[ast.stmt], header: str) -> Edits | None:
    """Puts consecutive statements of one block under a header such as `if x is not None:`.

    Returns:
        None where the statements are not neighbours, or stand where no line can be made.
    """
    block = block_of(tree, statements[0]) if statements else None
    if block is None or is_elif(source, statements[0]):
        return None
    run = block.statements[block.index : block.index + len(statements)]
    if len(run) != len(statements) or any(one is not other for one, other in zip(run, statements, strict=True)):
        return None
    if all(indentation(source, statement) is not None for statement in run) and ends_line(source, run[-1]):
        return _indented(source, tree, run, header)
    return _exploded(source, tree, block, run, header)


def decorate(source: Source, tree: ast.Module, function: FunctionNode, context: str = "torch.no_grad") -> Edits | None:
    """Puts `@torch.no_grad()` right above a `def`, below the decorators that it has.

    Returns:
        None for a coroutine, whose body runs after the decorator is done.
    """
    if isinstance(function, ast.AsyncFunctionDef):
        return None
    span = source.span_of(function)
    indent = source.lines[span.line - 1][: span.column]
    if indent.strip():
        return None
    name = spelling(tree, function, context)
    imported: Edits | None = () if name is not None else import_torch(source, tree)
    text = f"@{name or context}(){source.newline}{indent}"
    return combine(imported, (insertion(source, span.start, text),))


def _yields(statement: ast.stmt) -> bool:
    """Whether a statement hands control out of its function while the `with` would be open."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _indented(source: Source, tree: ast.Module, run: Sequence[ast.stmt], header: str) -> Edits | None:
    unit = indent_unit(source, tree, run[0])
    first, last = start_of(source, run[0])[0], _with_trailing_comments(source, run[-1])
    inside = lines_inside_strings(source, first, last)
    if inside is None:
        return None
    indent = indentation(source, run[0]) or ""
    edits = [insertion(source, (first, 0), f"{indent}{header}{source.newline}")]
    for line in range(first, last + 1):
        if line not in inside and source.lines[line - 1].strip():
            edits.append(insertion(source, (line, 0), unit))
    return tuple(edits)


def _exploded(source: Source, tree: ast.Module, block: Block, run: Sequence[ast.stmt], header: str) -> Edits | None:
    """Statements that share their lines with others: each gets a line, those of the run a deeper one."""
    if any(last_line(statement) != start_of(source, statement)[0] for statement in run):
        return None
    apart = own_lines(source, tree, block, run)
    if apart is None:
        return None
    breaks, indent = apart
    unit = indent_unit(source, tree)
    edits: list[TextEdit] = []
    deeper = {source.span_of(statement).start for statement in run}
    for edit in breaks:
        edits.append(TextEdit(edit.path, edit.span, edit.new_text + (unit if edit.span.end in deeper else "")))
    first = source.span_of(run[0]).start
    for index, edit in enumerate(edits):
        if edit.span.end == first:
            edits[index] = TextEdit(edit.path, edit.span, f"{source.newline}{indent}{header}{edit.new_text}")
            break
    else:
        edits.append(insertion(source, first, f"{header}{source.newline}{indent}{unit}"))
    for statement in run[1:]:
        if indentation(source, statement) is not None:
            edits.append(insertion(source, source.span_of(statement).start, unit))
    return combine(tuple(edits))


def _with_trailing_comments(source: Source, statement: ast.stmt) -> int:
    """The last line of a compound statement, with the comments that close its block."""
    last = last_line(statement)
    if not hasattr(statement, "body"):
        return last
    indent = indentation(source, statement) or ""
    for line in range(last + 1, len(source.lines) + 1):
        text = source.lines[line - 1]
        if not text.strip():
            continue
        if not text.lstrip().startswith("#") or len(text) - len(text.lstrip()) <= len(indent):
            break
        last = line
    return last
