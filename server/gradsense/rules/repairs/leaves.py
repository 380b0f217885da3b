"""Makes a tensor a leaf, or keeps the gradient of one that is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.layout import ends_line, indent_unit, indentation
from gradsense.fixes.methods import call_method, replace_expression, require_grad_last
from gradsense.fixes.torch_names import spelling
from gradsense.fixes.tree import may_not_repeat, mentions, same_expression
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.graph_search import reachable
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.wording import tensor_name
from gradsense.syntax.edits import TextEdit


def as_leaf(tensor: Tensor, made: Place) -> Iterator[Fix]:
    """Makes the tensor whose `.grad` is read a leaf that requires grad, where no other leaf lies behind it."""
    code = code_of(made)
    expression = code.expression(made.node)
    statement = code.statement(made.node)
    if statement is None or has_others_below(tensor):
        return
    name = tensor_name(tensor)
    if tensor.leaf:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if value is not None and all(cut.how in {"detach", "data"} for cut in tensor.cuts):
            yield from safe(
                f"Let {name} require grad: `.requires_grad_()`", _with_method(code, value, "requires_grad_")
            )
        return
    if expression is None:
        return
    maker = next((node for node in ast.walk(expression) if _makes_leaf(node)), None)
    if isinstance(maker, ast.Call) and maker is not expression:
        edits = require_grad_last(code.source, code.tree, expression, maker)
        yield from safe(f"Make {name} the leaf: `requires_grad_()` last", edits)
    yield from safe(f"Update {name} in place under `torch.no_grad()`", _in_place(code, statement))
    edits = _with_method(code, expression, "detach", "requires_grad_")
    yield from safe(f"Make {name} a leaf: `.detach().requires_grad_()`", edits)


def with_kept_gradient(tensor: Tensor) -> Iterator[Fix]:
    """Calls `retain_grad()` behind the statement that makes a value on the way from other leaves."""
    store = _named(tensor)
    if tensor.leaf or store is None or not has_others_below(tensor):
        return
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        edits = insert_after(code.source, code.tree, statement, f"{store.name}.retain_grad()")
        yield from safe(f"Keep the gradient of `{store.name}`: `retain_grad()`", edits)


def requiring_grad(tensor: Tensor) -> Iterator[Fix]:
    """Lets a tensor require grad where it is made and named."""
    store = _named(tensor)
    if store is None:
        return
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name | ast.Attribute):
        edits = _with_method(code, statement.value, "requires_grad_")
        yield from safe(f"Let `{store.name}` require grad: `.requires_grad_()`", edits)


def where_made(tensor: Tensor) -> Place | None:
    """The expression whose value a tensor was named as first, None where it came from elsewhere."""
    store = _named(tensor)
    if store is None or store.value is None:
        return None
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    value = code.expression(store.value)
    return Place(code.source, value) if isinstance(statement, ast.Assign) and value is not None else None


def detached_instead(place: Place) -> Iterator[Fix]:
    """Detaches a tensor where the program tries to switch its grad off.

    Args:
        place: the call of `requires_grad_(False)`, or the assignment to `requires_grad`.
    """
    code = code_of(place)
    statement = code.statement(place.node)
    call = code.expression(place.node)
    owner: ast.expr | None = None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        owner = statement.targets[0].value
    if statement is None or owner is None:
        return
    name = code.text(owner)
    title = f"Detach `{name}`: `.detach()`"
    alone = isinstance(statement, ast.Assign) or (isinstance(statement, ast.Expr) and statement.value is call)
    if alone and isinstance(owner, ast.Name | ast.Attribute) and not may_not_repeat(owner):
        new = f"{name} = {name}.detach()"
        yield from safe(title, (TextEdit(code.source.path, code.source.span_of(statement), new),))
    elif call is not None and not alone:
        edits = replace_expression(code.source, code.tree, call, f"{method_text(code, owner)}.detach()")
        yield from safe(title, edits)


def leaf_instead(place: Place) -> Iterator[Fix]:
    """Makes a new leaf where the program sets `requires_grad = True` on a computed tensor.

    Args:
        place: the assignment.
    """
    code = code_of(place)
    statement = code.statement(place.node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return
    owner = statement.targets[0].value
    if isinstance(owner, ast.Name | ast.Attribute) and not may_not_repeat(owner):
        name = code.text(owner)
        new = f"{name} = {name}.detach().requires_grad_()"
        edits = (TextEdit(code.source.path, code.source.span_of(statement), new),)
        yield from unsafe(f"Make `{name}` a leaf: `.detach().requires_grad_()`", edits)


def has_others_below(tensor: Tensor) -> bool:
    """Whether parameters, or leaves under other names, lie behind a tensor: their gradients may be wanted as well."""
    own = set(tensor.names())
    leaves = (node.accumulates for node in reachable([tensor.node]))
    return any(leaf is not None and (leaf.parameter or not own >= set(leaf.names())) for leaf in leaves)


def method_text(code: Code, expression: ast.expr) -> str:
    """An expression's text, in brackets where a method call behind it needs them."""
    text = code.text(expression)
    plain = isinstance(expression, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return text if plain else f"({text})"


def _with_method(code: Code, expression: ast.expr, *methods: str) -> Edits | None:
    return call_method(code.source, code.tree, expression, *methods)


def _named(tensor: Tensor) -> Store | None:
    return next((store for store in tensor.stores if store.kind in {"name", "attribute"} and store.name), None)


def _makes_leaf(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(
        keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in node.keywords
    )


def _in_place(code: Code, statement: ast.stmt) -> Edits | None:
    """`w = w - lr * w.grad` as an update that keeps `w` the leaf that it is, with its gradient reset."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name | ast.Attribute) or not isinstance(value, ast.BinOp):
        return None
    gradient = ast.Attribute(target, "grad", ast.Load())
    if (
        not isinstance(value.op, ast.Add | ast.Sub)
        or not same_expression(value.left, target)
        or not mentions(value.right, gradient)
    ):
        return None
    indent = indentation(code.source, statement)
    mode = spelling(code.tree, statement, "torch.no_grad")
    if indent is None or mode is None or not ends_line(code.source, statement):
        return None
    name, sign = code.text(target), "+" if isinstance(value.op, ast.Add) else "-"
    lines = [
        f"with {mode}():",
        f"{indent}{indent_unit(code.source, code.tree)}{name} {sign}= {code.text(value.right)}",
        f"{indent}{name}.grad = None",
    ]
    return (TextEdit(code.source.path, code.source.span_of(statement), code.source.newline.join(lines)),)
