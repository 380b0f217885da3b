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
    if function is None or not place.stack:
        return None
    # What a loop over the items of a parameter draws is one of them.
    drawn = name.id in _bound_in(function)
    parameter = _drawn_from(function, name.id) if drawn else name.id
    if parameter is None or _needs_graph(function, name.id):
        return None
    call_place = place.stack[-1]
    calling = code_of(call_place)
    call = calling.expression(call_place.node)
    if not isinstance(call, ast.Call) or not _calls(call, function):
        return None
    argument = _argument(code, function, call, parameter)
    if argument is not None and drawn:
        argument = _items_of(argument)
    return None if argument is None else Spot(calling, argument, callee=callee_name(call))


def _drawn_from(function: FunctionNode, name: str) -> str | None:
    """The parameter from whose items a loop, and nothing else, draws a variable: `for key, name in values.items()`."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
    stored = [n for n in names if isinstance(n.ctx, ast.Store)]
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For) and stored and stored[0] in ast.walk(n.target)]
    if len(stored) != 1 or len(loops) != 1:
        return None
    drawn, target = loops[0].iter, loops[0].target
    method = ""
    if isinstance(drawn, ast.Call) and isinstance(drawn.func, ast.Attribute):
        method, drawn = drawn.func.attr, drawn.func.value
    if method == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    elif method not in ("", "values"):
        return None
    if target is not stored[0] or not isinstance(drawn, ast.Name) or drawn.id in _bound_in(function):
        return None
    return drawn.id


def _items_of(argument: ast.expr) -> ast.expr | None:
    """What a display, or a call of `dict`, puts into a container; None where that is not to be seen."""
    if isinstance(argument, ast.Tuple | ast.List):
        return ast.Tuple(argument.elts, ast.Load())
    if isinstance(argument, ast.Dict) and None not in argument.keys:
        return ast.Tuple(argument.values, ast.Load())
    if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name) and argument.func.id == "dict":
        return ast.Tuple([keyword.value for keyword in argument.keywords], ast.Load())
    return None


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
    given = [(name, one) for name in read if (one := _given(spot.code, name, place, names)) is not None]
    tensors = [one for name, one in given if name.id in names or _has_graph(one, names)]
    if len(tensors) != 1:
        return spot
    spot = tensors[0]
    for call in reversed(place.stack[-4:]):
        name = spot.expression
        outer = _given(spot.code, name, call, names) if isinstance(name, ast.Name) else None
        if outer is None:
            break
        spot = outer
    return spot


def _given(code: Code, name: ast.Name, place: Place, names: set[str]) -> Spot | None:
    """The argument that gave a parameter its value; of several, the one that is called like a tensor with a graph."""
    given = argument_of(code, name, place)
    if given is None or not isinstance(given.expression, ast.Tuple):
        return given
    parts = [part for part in given.expression.elts if given.code.text(part) in names]
    return Spot(given.code, parts[0], callee=given.callee, narrowed=True) if len(parts) == 1 else None


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
    """The argument of a call for a parameter; for `*args` and `**keywords`, a tuple of all that goes there."""
    rest = function.args.kwarg.arg if function.args.kwarg is not None else ""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name != rest), None)
    if given is not None:
        return given
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    around = code.ancestors(function)
    if around and isinstance(around[-1], ast.ClassDef) and parameters and parameters[0] in {"self", "cls"}:
        parameters = parameters[1:]
    if name == rest:
        taken = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        return ast.Tuple([one.value for one in call.keywords if one.arg and one.arg not in taken], ast.Load())
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if name in parameters:
        position = parameters.index(name)
        return call.args[position] if position < len(call.args) else None
    if _is_rest(function, name):
        return ast.Tuple(call.args[len(parameters) :], ast.Load())
    return None
