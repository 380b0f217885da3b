"""Which generator expressions a loop draws from item by item, told from the syntax."""

from __future__ import annotations

import ast

from gradsense.machine.trees import nodes_of, notes
from gradsense.syntax.live import outermost_functions

# They ask what they are given for an item when they are asked for one.
PASSING_ON = frozenset("enumerate zip map iter tqdm".split())
_LOOPED_OVER = notes()


def drawn_by(iterable: ast.expr) -> list[ast.expr]:
    """What a loop over an expression draws from: the expression itself, or what `zip` and its kin are given in it."""
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id in PASSING_ON:
        return [part for argument in iterable.args for part in drawn_by(argument)]
    return [iterable]


def only_looped_over(scope: ast.AST) -> frozenset[str]:
    """The variables of a function, or of a module level, that are read only as what loops draw from."""
    known: frozenset[str] | None = _LOOPED_OVER.get(scope)
    if known is None:
        nodes = nodes_of(scope)
        if isinstance(scope, ast.Module):
            # What the module level comes to does not hang on functions that it does not enter.
            inside = {id(part) for function in outermost_functions(scope.body) for part in nodes_of(function)}
            nodes = [node for node in nodes if id(node) not in inside]
        loops = [node for node in nodes if isinstance(node, (ast.For, ast.AsyncFor))]
        drawn = {id(part) for loop in loops for part in drawn_by(loop.iter)}
        read = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        known = frozenset(n.id for n in read if id(n) in drawn) - {n.id for n in read if id(n) not in drawn}
        _LOOPED_OVER[scope] = known
    return known
