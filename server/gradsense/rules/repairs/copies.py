"""Lets an operation save a copy, so that no later write reaches what its backward needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import clone_value, detach_clone
from gradsense.fixes.fix import Fix, combine
from gradsense.fixes.inplace_calls import viewed, written_tensor
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import is_torch_function
from gradsense.fixes.tree import same_expression
from gradsense.machine.graph import Node, Saved, Tensor, Walk, Write
from gradsense.machine.graph_search import reachable
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


def save_copies(node: Node, saved: Saved, write: Write, walk: Walk | None) -> Iterator[Fix]:
    """Gives operations a copy of what they save: `fc(x)` becomes `fc(x.clone())`, a saved result is copied itself.

    All operations that the write would break get one. Values and gradients stay as they are. None is offered where
    the text of an operation does not show the tensor, as for the weight of a layer.

    Args:
        node: the operation.
        saved: what it saves.
        write: the later write.
        walk: the walk that finds it changed.
    """
    parts: dict[ast.expr, Code] = {}
    for victim, kept in [(node, saved), *_victims(node, saved, write, walk)]:
        code = code_of(victim.place)
        found = _saved_parts(code, victim, kept, write)
        if not found:
            return
        parts.update(dict.fromkeys(found, code))
    edits = combine(*(clone_value(code.source, code.tree, part) for part, code in parts.items()))
    texts = list(dict.fromkeys(f"`{code.text(part)}`" for part, code in parts.items()))
    yield from safe(f"Save a copy of {' and of '.join(texts)}", edits)


def _victims(node: Node, saved: Saved, write: Write, walk: Walk | None) -> Iterator[tuple[Node, Saved]]:
    """The other operations of a graph that the same write breaks."""
    writes = saved.tensor.storage.writes
    root = walk.root.node if walk is not None and walk.root is not None else None
    if write not in writes or root is None:
        return
    index = writes.index(write)
    for other in reachable([root]):
        for kept in other.saved:
            if other is not node and kept.tensor.storage is saved.tensor.storage and kept.version <= index:
                yield other, kept


def _saved_parts(code: Code, node: Node, saved: Saved, write: Write) -> list[ast.expr]:
    """The expressions whose value an operation saves: its operands, or itself."""
    expression = code.expression(node.place.node)
    if expression is None:
        return []
    if saved.tensor is node.output:
        # What an op saves that writes in place is the tensor itself, whatever is done with its value.
        in_place = isinstance(expression, ast.Call) and callee_name(expression).endswith("_")
        return [] if in_place else [expression]
    parts = spelt_operands(code, expression, node, saved.tensor)
    if not parts and isinstance(expression, ast.Call) and callee_name(expression) == "save_for_backward":
        target = _target(write)
        parts = [part for part in expression.args if target is not None and same_expression(part, target)]
    return parts


def _target(write: Write) -> ast.expr | None:
    code = code_of(write.place)
    node = code.twin(write.place.node)
    if not isinstance(node, ast.stmt | ast.expr):
        return None
    return written_tensor(code.tree, node)


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
