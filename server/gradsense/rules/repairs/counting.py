"""Counts and histograms with a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import is_torch_function, spelling
from gradsense.fixes.tree import may_not_repeat
from gradsense.rules.editing import Code
from gradsense.rules.repairs.leaves import method_text
from gradsense.rules.repairs.repair import Repair


def given(code: Code, call: ast.Call, *names: str) -> list[ast.expr | None]:
    """What a function of torch, or the method of that name, is given for its parameters, in their order."""
    values: list[ast.expr] = list(call.args)
    if not is_torch_function(code.tree, call.func) and isinstance(call.func, ast.Attribute):
        values.insert(0, call.func.value)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    return [values[at] if at < len(values) else named.get(name) for at, name in enumerate(names)]


def summed_weights(code: Code, call: ast.Call) -> Iterator[Repair]:
    """`w.new_zeros(n).index_add(0, i, w)` for `torch.bincount(i, weights=w, minlength=n)`."""
    index, weights, length = given(code, call, "input", "weights", "minlength")
    if index is None or weights is None or may_not_repeat(weights) or (length is None and may_not_repeat(index)):
        return
    size = code.text(length) if length is not None else f"int({method_text(code, index)}.max()) + 1"
    new = f"{method_text(code, weights)}.new_zeros({size}).index_add(0, {code.text(index)}, {code.text(weights)})"
    edits = replace_expression(code.source, code.tree, call, new)
    yield Repair("add the weights up with `index_add`, which has a gradient", edits, False)


def soft_histogram(code: Code, call: ast.Call) -> Iterator[Repair]:
    """A histogram in which a value counts for the two bins whose centres it lies between."""
    value, *numbers = given(code, call, "input", "bins", "min", "max")
    bins, low, high = (_number(one) for one in numbers)
    linspace = spelling(code.tree, call, "torch.linspace")
    if value is None or linspace is None or not bins or low is None or high is None or low >= high:
        return
    width = (high - low) / bins
    first, last, share = (format(one, ".10g") for one in (low + width / 2, high - width / 2, width))
    device = "" if may_not_repeat(value) else f", device={method_text(code, value)}.device"
    centres = f"{linspace}({first}, {last}, {int(bins)}{device})"
    distances = f"({method_text(code, value)}.reshape(-1, 1) - {centres}).abs()"
    new = f"(1 - {distances} / {share}).clamp(min=0).sum(0)"
    yield Repair("use a soft histogram", replace_expression(code.source, code.tree, call, new), False)


def _number(expression: ast.expr | None) -> float | None:
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        inner = _number(expression.operand)
        return None if inner is None else -inner
    known = isinstance(expression, ast.Constant) and type(expression.value) in (int, float)
    return float(expression.value) if known else None  # type: ignore[union-attr]


def counts_of(code: Code, call: ast.Call) -> ast.Call | None:
    """The `bincount` around an expression, as a function or as a method."""
    around = code.ancestors(call)
    parent = around[-1]
    if isinstance(parent, ast.Attribute) and parent.attr == "bincount" and len(around) > 1:
        parent = around[-2]
    if not isinstance(parent, ast.Call) or callee_name(parent) != "bincount":
        return None
    return parent if given(code, parent, "input", "weights")[1] is None else None
