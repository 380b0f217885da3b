"""Lets an operation save a copy, so that no later write reaches what its backward needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import clone_value
from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import viewed
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import is_torch_function
from gradsense.machine.graph import Node, Saved, Tensor
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.wording import quoted


def save_a_copy(node: Node, saved: Saved) -> Iterator[Fix]:
    """Gives the operation a copy of what it saves: `fc(x)` becomes `fc(x.clone())`, a saved result is copied itself.

    Values and gradients stay as they are. None is offered where the operation's text does not show the tensor, as for
    the weight of a layer.
    """
    code = code_of(node.place)
    expression = code.expression(node.place.node)
    if expression is None:
        return
    if saved.tensor is node.output:
        yield from safe(f"Copy {quoted(code.text(expression))}", clone_value(code.source, code.tree, expression))
        return
    parts = _spelt(code, expression, node, saved.tensor)
    if parts:
        name = quoted(code.text(parts[0]))
        yield from safe(f"Save a copy of {name}", clone_value(code.source, code.tree, *parts))


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


def _spelt(code: Code, expression: ast.expr, node: Node, tensor: Tensor) -> list[ast.expr]:
    """The operands of an operation that are the tensor or a view of it."""
    operands = list(_operands(code.tree, expression))
    names = set(tensor.names())
    if tensor.base is not None:
        names.update(tensor.base.names())
    found = [operand for operand in operands if code.text(operand) in names or code.text(viewed(operand)) in names]
    if not found and tensor.parameter:
        found = [operand for operand in operands if isinstance(operand, ast.Attribute) and operand.attr in _WEIGHTS]
    if not found and len(operands) == 1 and tensor in node.inputs and not tensor.parameter:
        found = operands
    return found


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
