"""Formulas with a gradient in the place of comparisons and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import is_torch_function, spelling
from gradsense.machine.graph import Cut
from gradsense.rules.editing import Code
from gradsense.rules.repairs.counting import counts_of
from gradsense.rules.repairs.leaves import method_text
from gradsense.rules.repairs.repair import Repair
from gradsense.rules.wording import quoted
from gradsense.syntax.edits import TextEdit

# Functions that take whole numbers only.
_COUNTING = frozenset({
    "argwhere", "bincount", "count_nonzero", "embedding", "gather", "index_add", "index_select", "nonzero", "one_hot",
    "scatter", "take", "unique",
})  # fmt: skip
# Methods of them.
_COUNTING_ITSELF = frozenset({"argwhere", "bincount", "count_nonzero", "nonzero", "unique"})

# What may be computed twice: it gives the same again.
_PLAIN = frozenset("abs clamp exp float log relu reshape sigmoid softmax sqrt squeeze tanh unsqueeze view".split())


def soft_comparison(code: Code, compare: ast.Compare) -> Iterator[Repair]:
    """A comparison with a threshold gives way to what is compared, or to a sigmoid of the difference."""
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return
    parent = code.ancestors(compare)[-1]
    if isinstance(parent, ast.Call) and callee_name(parent) == "count_nonzero" and len(parent.args) == 1:
        yield _soft_count(code, parent, compare, more=isinstance(compare.ops[0], ast.Gt | ast.GtE))
        return
    if used_as_index(code, compare) or (isinstance(parent, ast.Attribute) and parent.attr in _COUNTING):
        return
    more = isinstance(compare.ops[0], ast.Gt | ast.GtE)
    if more and isinstance(compare.comparators[0], ast.Constant | ast.Name | ast.Attribute):
        value = code.text(compare.left)
        edits = replace_expression(code.source, code.tree, compare, value)
        yield Repair(f"use {quoted(value)} itself instead of comparing it", edits, False)
    left, right = (_operand(code, one) for one in (compare.left, compare.comparators[0]))
    new = f"({left} - {right}).sigmoid()" if more else f"({right} - {left}).sigmoid()"
    edits = replace_expression(code.source, code.tree, compare, new)
    yield Repair(f"a soft comparison, {quoted(new)}", edits, False)


def _soft_count(code: Code, call: ast.Call, compare: ast.Compare, *, more: bool) -> Repair:
    """The sum of a soft comparison for `torch.count_nonzero(x > y)`."""
    left, right = (_operand(code, one) for one in (compare.left, compare.comparators[0]))
    new = f"({left} - {right}).sigmoid().sum()" if more else f"({right} - {left}).sigmoid().sum()"
    edits = replace_expression(code.source, code.tree, call, new) if not call.keywords else None
    return Repair(f"a soft count, {quoted(new)}", edits, False)


def straight_through(code: Code, call: ast.Call) -> Iterator[Repair]:
    """Rounds in the forward and lets the gradient pass: `x + (x.round() - x).detach()`."""
    value = _scores(code, call)
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)] if value is not None else []
    if value is None or any(callee_name(one) not in _PLAIN for one in calls):
        return
    text = _operand(code, value)
    edits = replace_expression(code.source, code.tree, call, f"({text} + ({code.text(call)} - {text}).detach())")
    yield Repair(f"let the gradient pass `{callee_name(call)}` straight through", edits, False)


def soft_hit(code: Code, call: ast.Call) -> Iterator[Repair]:
    """The probability of the right class for `logits.argmax(1) == y`, and of a wrong one for `!=`."""
    edits: Edits | None = ()
    target = _assigned(code, call)
    if target is not None:
        readers = [(child, parent) for child, parent in _uses(code, call) if isinstance(child, ast.Name)]
        if len(readers) != 1 or not isinstance(readers[0][1], ast.Compare):
            return
        compare, likely = readers[0][1], readers[0][0]
        probabilities = _probabilities(code, call)
        dimension = _dimension(code, call)
        if probabilities is None or dimension is None:
            return
        edits = combine(replace_expression(code.source, code.tree, call, probabilities), _alone(code, call))
        hit = _hit(code, compare, likely, code.text(likely), dimension)
    elif callee_name(call) == "argmax":
        around = [one for one in reversed(code.ancestors(call)) if isinstance(one, ast.Compare)]
        if not around:
            return
        compare = around[0]
        sides: list[ast.Call] = [one for one in (compare.left, *compare.comparators) if _is_argmax(one)]
        if not sides:
            return
        chosen = call if call in sides else sides[0]
        probabilities, dimension = _probabilities(code, chosen), _dimension(code, chosen)
        if probabilities is None or dimension is None:
            return
        hit = _hit(code, compare, chosen, probabilities, dimension)
    else:
        return
    new = replace_expression(code.source, code.tree, compare, hit) if hit is not None else None
    yield Repair("use the probability of the class instead of comparing", combine(edits, new), False)


def _hit(code: Code, compare: ast.Compare, side: ast.AST, probabilities: str, dimension: str) -> str | None:
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Eq | ast.NotEq):
        return None
    other = compare.comparators[0] if compare.left is side else compare.left
    wanted = _operand(code, other)
    hit = f"{probabilities}.gather({dimension}, {wanted}.unsqueeze({dimension})).squeeze({dimension})"
    return hit if isinstance(compare.ops[0], ast.Eq) else f"(1 - {hit})"


def _is_argmax(expression: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(expression, ast.Call) and callee_name(expression) == "argmax"


def _probabilities(code: Code, call: ast.Call) -> str | None:
    scores, dimension = _scores(code, call), _dimension(code, call)
    return None if scores is None or dimension is None else f"{method_text(code, scores)}.softmax({dimension})"


def _dimension(code: Code, call: ast.Call) -> str | None:
    """The dimension that an `argmax` goes over, as it is written; None for all of them, or where it is kept."""
    if any(keyword.arg == "keepdim" for keyword in call.keywords):
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg in {"dim", "axis"}), None)
    position = 1 if is_torch_function(code.tree, call.func) else 0
    if given is None and len(call.args) > position:
        given = call.args[position]
    return code.text(given) if given is not None else None


def _operand(code: Code, expression: ast.expr) -> str:
    """An expression's text as an operand of arithmetic or the owner of a method."""
    simple = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
    text = code.text(expression)
    return text if isinstance(expression, simple) else f"({text})"


def soft_argmax(code: Code, call: ast.Call, cut: Cut) -> Iterator[Repair]:
    """The probabilities for the one-hot code of the likeliest class, the expected class for the class itself."""
    if callee_name(call) != "argmax" and _assigned(code, call) is None:
        # `max` gives the values as well.
        return
    lost = cut.lost[0] if cut.lost else None
    scores = _scores(code, call)
    shape = lost.shape if lost is not None else None
    if scores is None or not shape or not _over_last(call, len(shape), function=scores in call.args):
        return
    text = method_text(code, scores)
    softened = lost is not None and lost.node is not None and lost.node.op == "softmax"
    probabilities = text if softened else f"{text}.softmax(-1)"
    parent = code.ancestors(call)[-1]
    counts = counts_of(code, call)
    if counts is not None and len(shape) == 2:
        edits = replace_expression(code.source, code.tree, counts, f"{probabilities}.sum(0)")
        yield Repair("add up the probabilities instead of counting the likeliest classes", edits, False)
        return
    if isinstance(parent, ast.Call) and callee_name(parent) == "one_hot" and call in parent.args:
        edits = replace_expression(code.source, code.tree, parent, probabilities)
        yield Repair(f"use the probabilities {quoted(probabilities)} instead of the likeliest class", edits, False)
        return
    arange = spelling(code.tree, call, "torch.arange")
    if arange is None or shape[-1] is None or used_as_index(code, call) or _is_compared(code, call):
        return
    new = f"({probabilities} @ {arange}({float(shape[-1])}))"
    edits = combine(replace_expression(code.source, code.tree, call, new), _alone(code, call))
    yield Repair("use the expected class (a soft argmax) instead of the likeliest", edits, False)


def used_as_index(code: Code, expression: ast.expr) -> bool:
    """Whether a value picks or counts items, which takes whole numbers."""
    return any(_picks(parent, node) for node, parent in _uses(code, expression))


def _is_compared(code: Code, expression: ast.expr) -> bool:
    return any(isinstance(parent, ast.Compare) for _, parent in _uses(code, expression))


def _uses(code: Code, expression: ast.expr) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What is around an expression, step by step, and around each reading of the variable that it is assigned to."""
    around = (*code.ancestors(expression), expression)
    yield from zip(reversed(around), reversed(around[:-1]), strict=False)
    statement = code.statement(expression)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Tuple):
        target = _assigned(code, expression)
    if not isinstance(target, ast.Name):
        return
    region = code.function(expression) or code.tree
    for parent in ast.walk(region):
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.Name) and child.id == target.id and isinstance(child.ctx, ast.Load):
                yield child, parent


def _assigned(code: Code, expression: ast.expr) -> ast.Name | None:
    """The variable that is assigned an expression, or the classes of `_, classes = scores.max(1)`."""
    statement = code.statement(expression)
    if not isinstance(statement, ast.Assign) or statement.value is not expression or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if isinstance(target, ast.Name):
        return target
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    values, classes = target.elts
    region = code.function(expression) or code.tree
    reads = {node.id for node in ast.walk(region) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    is_idle = isinstance(values, ast.Name) and values.id not in reads
    return classes if is_idle and isinstance(classes, ast.Name) else None


def _alone(code: Code, call: ast.Call) -> Edits | None:
    """Has the classes of `_, classes = scores.max(1)` be all that is assigned."""
    statement = code.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = _assigned(code, call)
    if not isinstance(target, ast.Tuple) or name is None:
        return ()
    return (TextEdit(code.source.path, code.source.span_of(target), name.id),)


def _picks(parent: ast.AST, node: ast.AST) -> bool:
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    if isinstance(parent, ast.Attribute):
        return parent.attr in _COUNTING_ITSELF
    return isinstance(parent, ast.Call) and callee_name(parent).rstrip("_") in _COUNTING and parent.func is not node


def _scores(code: Code, call: ast.Call) -> ast.expr | None:
    if is_torch_function(code.tree, call.func):
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _over_last(call: ast.Call, dimensions: int, *, function: bool) -> bool:
    """Whether an `argmax` goes over the last dimension."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg in {"dim", "axis"}), None)
    position = 1 if function else 0
    if given is None and len(call.args) > position:
        given = call.args[position]
    if isinstance(given, ast.UnaryOp) and isinstance(given.operand, ast.Constant):
        return given.operand.value == 1
    return isinstance(given, ast.Constant) and given.value == dimensions - 1
