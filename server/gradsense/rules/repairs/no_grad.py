"""Puts a write that autograd should not see under `torch.no_grad()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.inplace_names import FUNCTIONS, stem
from gradsense.fixes.keywords import INPLACE_POSITION, callee_name
from gradsense.fixes.tree import Block, same_expression, stored_names
from gradsense.fixes.wrap import wrap_in
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe


def under_no_grad(place: Place, name: str) -> Iterator[Fix]:
    """Wraps the statement that writes, with its neighbours that write to the same, or the loop that does nothing else.

    Args:
        place: the write.
        name: what it writes to, in backticks.
    """
    code = code_of(place)
    statement = code.statement(place.node)
    block = code.block(statement) if statement is not None else None
    if statement is None or block is None:
        return
    run = _same_target(code, block, statement)
    while len(run) == len(block.statements) and isinstance(block.owner, ast.For) and not block.owner.orelse:
        run = [block.owner]
        outer = code.block(block.owner)
        if outer is None:
            return
        block = outer
    yield from safe(f"Write {name} under `torch.no_grad()`", wrap_in(code.source, code.tree, run))


def _same_target(code: Code, block: Block, statement: ast.stmt) -> list[ast.stmt]:
    """The statements around one that all write in place to the same name or attribute."""
    target = written_tensor(code.tree, statement)
    if target is None:
        return [statement]
    first = last = block.index
    while first > 0 and _writes(code, block.statements[first - 1], target):
        first -= 1
    while last + 1 < len(block.statements) and _writes(code, block.statements[last + 1], target):
        last += 1
    return block.statements[first : last + 1]


def _writes(code: Code, statement: ast.stmt, target: ast.expr) -> bool:
    if isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Subscript):
        return False
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
        return False
    other = written_tensor(code.tree, statement)
    return other is not None and same_expression(other, target)


def computes_with_graph(place: Place) -> bool:
    """Whether a write looks like a part of a forward pass, whose gradient is wanted, and not like an update by hand.

    It does in a `forward` that writes to a local name, and where the write is an activation.
    """
    code = code_of(place)
    found = code.twin(place.node)
    if isinstance(found, ast.Call) and (
        callee_name(found) in INPLACE_POSITION or stem(callee_name(found)) in FUNCTIONS
    ):
        return True
    target = found.target if isinstance(found, ast.AugAssign) else None
    function = code.function(found) if found is not None else None
    return isinstance(target, ast.Name) and function is not None and function.name in _FORWARD


def is_update(place: Place) -> bool:
    """Whether a write moves a leaf that has to stay the same object: others know it, or its `.grad` is read.

    So it is with a parameter that is a layer's attribute or the variable of a loop, with an item of a list, and with a
    tensor whose `.grad` the program reads by the same name.
    """
    code = code_of(place)
    found = code.twin(place.node)
    statement = code.statement(found) if found is not None else None
    target = written_tensor(code.tree, found if isinstance(found, ast.Call) else statement) if statement else None
    if not isinstance(target, ast.Name):
        return target is not None
    loops = code.loops(target)
    if any(target.id in stored_names(loop.target) for loop in loops if not isinstance(loop, ast.While)):
        return True
    region = code.function(target) or code.tree
    reads = (node.value for node in ast.walk(region) if isinstance(node, ast.Attribute) and node.attr == "grad")
    return any(same_expression(read, target) for read in reads)


_FORWARD = frozenset({"forward", "encode", "decode", "training_step", "compute_loss"})
