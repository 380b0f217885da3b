"""Refactorings: what writes in place under the cursor, written without, whether or not anything is wrong with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.activations import in_place_activations, turn_off
from gradsense.fixes.fix import Edits
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.inplace_names import stem
from gradsense.fixes.insert import clone_before
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.out_of_place import out_of_place
from gradsense.fixes.tree import first_line, last_line, scope_of
from gradsense.fixes.where import with_where
from gradsense.lsp.held import Held
from gradsense.lsp.messages import FindRewrites, Rewrites, RewriteView
from gradsense.syntax import Source, Span, apply_edits, parse

MOST_STATEMENTS = 12
"""A selection of more is no question about any one of them."""

_SHOWN = 60


def find_rewrites(held: Held, request: FindRewrites) -> Rewrites:
    """The refactorings for the lines that the client asks about."""
    source = held.source
    first, last = held.lines(request.name, request.first_line, request.last_line)
    tree = parse(source).tree
    statements = [node for node in ast.walk(tree) if _is_at(node, first, last)]
    if len(statements) > MOST_STATEMENTS:
        return Rewrites(())
    found: dict[object, RewriteView] = {}
    for title, edits in _offers(source, tree, [node for node in statements if isinstance(node, ast.stmt)], first, last):
        views = None if edits is None else held.views.edits(edits)
        own = {request.name or source.path}
        if views and {view.path for view in views} <= own:
            found.setdefault(views, RewriteView(title, views))
    return Rewrites(tuple(found.values()))


def _is_at(node: ast.AST, first: int, last: int) -> bool:
    simple = isinstance(node, ast.AugAssign | ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
    return simple and first_line(node) <= last and first <= last_line(node)  # type: ignore[arg-type]


def _offers(
    source: Source, tree: ast.Module, statements: list[ast.stmt], first: int, last: int
) -> Iterator[tuple[str, Edits | None]]:
    for statement in statements:
        yield from _of_statement(source, tree, statement)
    for model in ast.walk(tree):
        if isinstance(model, ast.ClassDef) and model.lineno <= last and first <= last_line(model):
            calls = in_place_activations(model)
            here = first <= model.lineno <= last or any(c.lineno <= last and first <= last_line(c) for c in calls)
            if calls and here:
                yield f"Turn off all in-place activations of `{model.name}`", turn_off(source, tree, calls)


def _of_statement(source: Source, tree: ast.Module, statement: ast.stmt) -> Iterator[tuple[str, Edits | None]]:
    if isinstance(statement, ast.AugAssign):
        if not _counts(tree, statement):
            yield _rewritten(source, out_of_place(source, tree, statement))
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        yield _rewritten(source, out_of_place(source, tree, statement))
    yield _rewritten(source, with_where(source, tree, statement))
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and _may_write(call):
            yield _rewritten(source, out_of_place(source, tree, call))
    if _writes_a_part(statement):
        tensor = written_tensor(tree, statement)
        if tensor is not None:
            name = source.slice(source.span_of(tensor))
            edits = clone_before(source, tree, statement, tensor)
            yield f"Write to a copy: `{name} = {name}.clone()` first", edits


def _may_write(call: ast.Call) -> bool:
    return stem(callee_name(call)) is not None or any(keyword.arg in ("out", "inplace") for keyword in call.keywords)


def _writes_a_part(statement: ast.stmt) -> bool:
    """Whether a statement writes to a subscript that may be of a tensor; a text as key is one of a dict."""
    target: ast.expr | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _may_write(statement.value):
        func = statement.value.func
        target = func.value if isinstance(func, ast.Attribute) else None
    if not isinstance(target, ast.Subscript):
        return False
    return not (isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str))


def _counts(tree: ast.Module, statement: ast.AugAssign) -> bool:
    """Whether it adds a number to a name that holds numbers as far as its scope shows: a counter, and no tensor."""
    if not isinstance(statement.target, ast.Name):
        return False
    name = statement.target.id
    values: list[ast.expr] = []
    for node in ast.walk(scope_of(tree, statement)):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            values.append(node.value)  # type: ignore[attr-defined]
    return len(values) > 1 and all(isinstance(value, ast.Constant) for value in values)


def _rewritten(source: Source, edits: Edits | None) -> tuple[str, Edits | None]:
    """The title that shows what the statement becomes."""
    if not edits:
        return "", None
    first = min(edit.span.line for edit in edits)
    last = max(edit.span.end_line for edit in edits)
    before = source.slice(Span(first, 0, last, len(source.lines[last - 1])))
    changed = apply_edits(source.text, edits)
    grown = len(changed) - len(source.text)
    start = source.offset(first, 0)
    after = changed[start : start + len(before) + grown]
    # Only the lines that differ.
    old = before.split("\n")
    lines = [line.partition("  #")[0].strip() for line in after.split("\n") if line not in old]
    shown = "; ".join(line for line in lines if line)
    return f"Write out of place: `{shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + '…'}`", edits
