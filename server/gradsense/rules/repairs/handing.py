"""Follows a value to the call that handed it to the function that keeps it."""

from __future__ import annotations

import ast

from gradsense.fixes.keywords import callee_name
from gradsense.fixes.tree import FunctionNode, stored_names
from gradsense.fixes.values import is_cut
from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Tensor
from gradsense.machine.place import Place
from gradsense.machine.story import FOLLOWING
from gradsense.rules.editing import Code, code_of
from gradsense.rules.repairs.carriers import carries
from gradsense.rules.repairs.spot import Spot

# What a module does with its inputs is its own business.
_OF_MODULES = frozenset({"forward", "__call__", "<lambda>"})
_PASSIVE = {"adds": "added", "keeps": "kept"}
_WALKS = frozenset({"backward", "grad", "manual_backward", "scale"})


def handed_over(spot: Spot, place: Place, tensor: Tensor) -> Spot:
    """The argument of the outermost call that passed the value on unchanged, or the spot itself."""
    for _ in range(4):
        name = spot.expression
        if not isinstance(name, ast.Name):
            break
        outer = argument_of(spot.code, name, place)
        if outer is None:
            break
        function = spot.code.function(name)
        if isinstance(outer.expression, ast.Tuple) or (function is not None and _is_rest(function, name.id)):
            parts = [part for part in _rest(outer.expression) if carries(outer.code, part, tensor)]
            if len(parts) != 1:
                break
            spot = Spot(outer.code, parts[0], callee=outer.callee, narrowed=True)
        else:
            spot = Spot(outer.code, outer.expression, spot.kinds, outer.callee)
        place = place.stack[-1]
    return spot


def argument_of(code: Code, name: ast.Name, place: Place) -> Spot | None:
    """The argument that gave a parameter its value, where nothing else in the function needs the graph.

    Args:
        code: the file of the function.
        name: the parameter, as the function reads it.
        place: where that was, with the calls that led to it.
    """
    function = code.function(name)
    if function is None or not place.stack or name.id in _bound_in(function) or _needs_graph(function, name.id):
        return None
    call_place = place.stack[-1]
    calling = code_of(call_place)
    call = calling.expression(call_place.node)
    if not isinstance(call, ast.Call) or not _calls(call, function):
        return None
    argument = _argument(code, function, call, name.id)
    return None if argument is None else Spot(calling, argument, callee=callee_name(call))


def giving(event: GraphGrows, found: list[Spot]) -> Spot | None:
    """The argument that was given to what keeps it, if that is where it should be cut.

    Args:
        found: what is cut where it is known how the value gets from the argument to the store.
    """
    if found and all(spot.callee or _is_elsewhere(spot, event.store.place) for spot in found):
        return found[0]
    given = [handed_in(event, tensor) for tensor in event.kept]
    return given[0] if given else None


def by_callee(given: Spot, verb: str) -> str:
    """Who does something with what was given: "`update` adds `loss`", or "`loss` is kept"."""
    return f"`{given.callee}` {verb} {given.text}" if given.callee else f"{given.text} is {_PASSIVE[verb]}"


def _is_elsewhere(spot: Spot, place: Place) -> bool:
    """Whether an expression is in another function than a place."""
    code = code_of(place)
    statement = code.statement(place.node)
    return statement is not None and (
        spot.code is not code or spot.code.function(spot.expression) is not code.function(statement)
    )


def handed_in(event: GraphGrows, tensor: Tensor) -> Spot | None:
    """The argument, of the outermost call in the loop, in which a tensor came to the function that keeps it."""
    place = event.store.place
    keeping = code_of(place).function(code_of(place).statement(place.node) or place.node)
    if keeping is None or keeping.name in _OF_MODULES:
        return None
    names = _names_of(tensor)
    walk = tensor.node.walked if tensor.node is not None else None
    within = {call.key for call in walk.place.stack} if walk is not None else set()
    for call in place.stack[len(event.where.stack) :]:
        code = code_of(call)
        made = code.expression(call.node)
        if not isinstance(made, ast.Call) or call.key in within:
            continue
        for part in (*made.args, *(keyword.value for keyword in made.keywords)):
            named = isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and code.text(part) in names
            if named or _is_made_in(code, part, tensor):
                return Spot(code, part, callee=callee_name(made))
    return None


def _is_made_in(code: Code, part: ast.expr, tensor: Tensor) -> bool:
    """Whether an argument is the expression that computes a tensor, or what it is a part of."""
    node = tensor.node
    while node is not None:
        places = [place for place in (node.place, *node.place.stack) if place.source is code.source]
        if any(code.twin(place.node) is part for place in places):
            return True
        node = node.parents[0] if node.op in FOLLOWING and node.parents else None
    return False


def _names_of(tensor: Tensor) -> set[str]:
    """What a tensor is called, and what it is a part of."""
    names = set(tensor.names())
    node = tensor.node
    while node is not None and node.op in FOLLOWING and node.parents:
        node = node.parents[0]
        names |= set(node.output.names()) if node.output is not None else set()
    return names


def as_given(spot: Spot, place: Place, names: set[str]) -> Spot:
    """The argument of the call that gave a function the one tensor that a term is computed from, or the spot itself.

    Args:
        spot: the term, such as `value * n`.
        place: where it is stored, with the calls that led there.
        names: the names of tensors with a graph.
    """
    read = [node for node in _operands(spot.expression) if isinstance(node, ast.Name)]
    given = [(name, one) for name in read if (one := argument_of(spot.code, name, place)) is not None]
    tensors = [one for name, one in given if name.id in names or _has_graph(one, names)]
    return tensors[0] if len(tensors) == 1 else spot


def _operands(expression: ast.expr) -> list[ast.expr]:
    """What an expression computes with: `value` and `n` of `value * n`, and the whole of anything but arithmetic."""
    if isinstance(expression, ast.BinOp):
        return [*_operands(expression.left), *_operands(expression.right)]
    return _operands(expression.operand) if isinstance(expression, ast.UnaryOp) else [expression]


def _has_graph(given: Spot, names: set[str]) -> bool:
    """Whether an argument is a tensor of the graph, as far as its spelling tells."""
    if is_cut(given.expression):
        return False
    named = any(
        given.code.text(node) in names
        for node in ast.walk(given.expression)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return named or isinstance(given.expression, ast.Call)


def _rest(expression: ast.expr) -> list[ast.expr]:
    return expression.elts if isinstance(expression, ast.Tuple) else [expression]


def _is_rest(function: FunctionNode, name: str) -> bool:
    return function.args.vararg is not None and function.args.vararg.arg == name


def _bound_in(function: FunctionNode) -> set[str]:
    return set().union(*(stored_names(statement) for statement in function.body))


def _needs_graph(function: FunctionNode, name: str) -> bool:
    """Whether a function walks, returns or computes a loss with what it was given."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and callee_name(node) in _WALKS:
            return True
        returned = node.value if isinstance(node, ast.Return) else None
        if returned is not None and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(returned)):
            return True
    return False


def _calls(call: ast.Call, function: FunctionNode) -> bool:
    return function.name != "forward" and (
        callee_name(call) == function.name or function.name in {"__init__", "__call__"}
    )


def _argument(code: Code, function: FunctionNode, call: ast.Call, name: str) -> ast.expr | None:
    """The argument of a call for a parameter; for `*args`, a tuple of all that goes there."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if given is not None:
        return given
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    around = code.ancestors(function)
    if around and isinstance(around[-1], ast.ClassDef) and parameters and parameters[0] in {"self", "cls"}:
        parameters = parameters[1:]
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if name in parameters:
        position = parameters.index(name)
        return call.args[position] if position < len(call.args) else None
    if _is_rest(function, name):
        return ast.Tuple(call.args[len(parameters) :], ast.Load())
    return None
