"""Lets an operation save a copy, so that no later write reaches what its backward needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import clone_value, detach_clone
from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import viewed, written_tensor
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import is_torch_function
from gradsense.fixes.tree import same_expression
from gradsense.machine.graph import Node, Saved, Tensor, Write
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.wording import quoted


def copy_alias(write: Write) -> Iterator[Fix]:
    """Gives the written tensor memory of its own where it is cut off: `x.detach()` becomes `x.detach().clone()`.
    None is offered where the write has no use but to reach the other tensor, as `x.data.zero_()` by itself.
    """
    alias = write.tensor.base or write.tensor if write.tensor is not None else None
    if alias is None or write.through is None:
        return
    code = code_of(alias.made)
    expression = code.expression(alias.made.node)
    statement = code.statement(alias.made.node)
    if expression is None or statement is None or (isinstance(statement, ast.Expr) and statement is _statement(write)):
        return
    if isinstance(statement, ast.Assign) and any(
        target is not None and _within(target, expression) for target in statement.targets
    ):
        return
    edits = detach_clone(code.source, code.tree, expression)
    yield from safe(f"Work on a copy: {quoted(code.text(expression))} with `.clone()`", edits)


def _statement(write: Write) -> ast.stmt | None:
    return code_of(write.place).statement(write.place.node)


def _within(around: ast.expr, node: ast.expr) -> bool:
    return any(child is node for child in ast.walk(around))


def save_a_copy(node: Node, saved: Saved, write: Write | None = None) -> Iterator[Fix]:
    """Gives the operation a copy of what it saves: `fc(x)` becomes `fc(x.clone())`, a saved result is copied itself.

    Values and gradients stay as they are. None is offered where the operation's text does not show the tensor, as for
    the weight of a layer.

    Args:
        node: the operation.
        saved: what it saves.
        write: the later write.
    """
    code = code_of(node.place)
    expression = code.expression(node.place.node)
    if expression is None:
        return
    if saved.tensor is node.output:
        yield from safe(f"Copy {quoted(code.text(expression))}", clone_value(code.source, code.tree, expression))
        return
    parts = spelt_operands(code, expression, node, saved.tensor)
    if not parts and isinstance(expression, ast.Call) and callee_name(expression) == "save_for_backward":
        target = _target(write)
        parts = [part for part in expression.args if target is not None and same_expression(part, target)]
    if parts:
        title = f"Save a copy of {quoted(code.text(parts[0]))} in {quoted(code.text(expression))}"
        yield from safe(title, clone_value(code.source, code.tree, *parts))


def copy_of(place: Place) -> Iterator[Fix]:
    """Copies what an expression makes, such as an expanded view, so that it has memory of its own."""
    code = code_of(place)
    expression = code.expression(place.node)
    if expression is not None:
        yield from safe(f"Copy {quoted(code.text(expression))}", clone_value(code.source, code.tree, expression))


def copies_of_parts(place: Place) -> Iterator[Fix]:
    """Copies each output of a `chunk`, `split` or `unbind`; writes to them no longer reach the whole."""
    code = code_of(place)
    call = code.expression(place.node)
    if isinstance(call, ast.Call):
        text = code.text(call)
        new = f"tuple(part.clone() for part in {text})"
        yield from unsafe(f"Copy the parts of {quoted(text)}", replace_expression(code.source, code.tree, call, new))


def _target(write: Write | None) -> ast.expr | None:
    code = code_of(write.place) if write is not None else None
    node = code.twin(write.place.node) if write is not None and code is not None else None
    if code is None or not isinstance(node, ast.stmt | ast.expr):
        return None
    return written_tensor(code.tree, node)


def spelt_operands(code: Code, expression: ast.expr, node: Node, tensor: Tensor) -> list[ast.expr]:
    """The operands of an operation, as it is written, that are a tensor or a view of it."""
    operands = list(_operands(code.tree, expression))
    names = set(tensor.names())
    if tensor.base is not None:
        names.update(tensor.base.names())
    found = named_operands(code, expression, names)
    if not found and tensor.parameter:
        found = [operand for operand in operands if isinstance(operand, ast.Attribute) and operand.attr in _WEIGHTS]
    if not found and len(operands) == 1 and tensor in node.inputs and not tensor.parameter:
        found = operands
    return found


def named_operands(code: Code, expression: ast.expr, names: set[str]) -> list[ast.expr]:
    """The operands of an operation that are written as one of some names, or as a view of it."""
    operands = _operands(code.tree, expression)
    return [operand for operand in operands if code.text(operand) in names or code.text(viewed(operand)) in names]


_WEIGHTS = ("weight", "bias")


def _operands(tree: ast.Module, expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.BinOp):
        yield expression.left
        yield expression.right
    elif isinstance(expression, ast.UnaryOp):
        yield expression.operand
    elif isinstance(expression, ast.Call):
        function = expression.func
        if isinstance(function, ast.Attribute) and not is_torch_function(tree, function):
            owner = function.value
            # `h.pow(2)` computes with `h`; `self.norm(h)` and `F.relu(h)` do not compute with what stands before.
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "F", "nn", "torch")):
                yield owner
        for argument in [*expression.args, *(keyword.value for keyword in expression.keywords)]:
            yield from _parts(argument)


def _parts(argument: ast.expr) -> Iterator[ast.expr]:
    if isinstance(argument, ast.List | ast.Tuple):
        for element in argument.elts:
            yield from _parts(element)
    elif not isinstance(argument, ast.Constant | ast.Starred):
        yield argument
