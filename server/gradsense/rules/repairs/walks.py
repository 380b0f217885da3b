"""The arguments of calls that walk a graph."""

from __future__ import annotations

import ast

from gradsense.fixes.fix import Edits
from gradsense.fixes.keywords import callee_name, drop_keyword
from gradsense.fixes.torch_names import meaning
from gradsense.rules.editing import Code

# Where each spelling takes an argument by position.
_METHOD = {"gradient": 0, "retain_graph": 1, "create_graph": 2}
_BACKWARD = {"tensors": 0, "grad_tensors": 1, "retain_graph": 2, "create_graph": 3}
_GRAD = {"outputs": 0, "inputs": 1, "grad_outputs": 2, "retain_graph": 3, "create_graph": 4}


def walk_position(code: Code, call: ast.Call, name: str) -> int | None:
    """Where a walk takes an argument by position; None where it takes it by name only."""
    if callee_name(call) == "grad":
        return _GRAD.get(name)
    if meaning(code.tree, call.func) == "torch.autograd.backward":
        return _BACKWARD.get(name)
    return _METHOD.get(name)


def drop_retain_graph(code: Code, call: ast.Call) -> Edits | None:
    """Takes `retain_graph=True` out of a walk; None where its value is anything but a plain True."""
    position = walk_position(code, call, "retain_graph")
    value = next((keyword.value for keyword in call.keywords if keyword.arg == "retain_graph"), None)
    if value is None and position is not None and position < len(call.args):
        value = call.args[position]
    if not isinstance(value, ast.Constant) or value.value is not True:
        return None
    return drop_keyword(code.source, code.tree, call, "retain_graph", position)
