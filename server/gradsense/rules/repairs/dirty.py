"""What a custom Function may do about a tensor that it marked dirty and did not return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix, combine
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.insert import clone_before
from gradsense.fixes.methods import drop_last
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.tree import same_expression
from gradsense.fixes.values import links
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe, unsafe


def return_what_is_marked(marked: Place) -> Iterator[Fix]:
    """Returns the marked tensor itself, or writes to a copy that needs no mark."""
    code = code_of(marked)
    call = code.expression(marked.node)
    statement = code.statement(marked.node)
    function = code.function(call) if call is not None else None
    if not isinstance(call, ast.Call) or not call.args or statement is None or function is None:
        return
    tensor = call.args[0]
    name = code.text(tensor)
    for returned in (node.value for node in ast.walk(function) if isinstance(node, ast.Return)):
        for part in returned.elts if isinstance(returned, ast.Tuple) else [returned]:
            if part is not None and _is_clone_of(part, tensor):
                yield from safe(f"Return `{name}` itself", drop_last(code.source, code.tree, part))
    remove = remove_statement(code.source, code.tree, statement)
    first = _first_write(code, function, tensor)
    if first is None:
        yield from safe(f"Do not mark `{name}` dirty: it is not written", remove)
    else:
        copy = clone_before(code.source, code.tree, first, tensor)
        yield from unsafe(f"Write to a copy of `{name}`, unmarked", combine(copy, remove))


def _is_clone_of(expression: ast.expr, tensor: ast.expr) -> bool:
    chain = [name for name, _ in links(expression)]
    return (
        chain == ["clone"]
        and isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and same_expression(expression.func.value, tensor)
    )


def _first_write(code: Code, function: ast.AST, tensor: ast.expr) -> ast.stmt | None:
    writes = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Expr | ast.AugAssign | ast.Assign)
        and (target := written_tensor(code.tree, node)) is not None
        and same_expression(target, tensor)
        and not (isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Subscript))
    ]
    return min(writes, key=lambda node: node.lineno, default=None)
