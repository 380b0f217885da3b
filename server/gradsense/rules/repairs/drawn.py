"""Samples and choices: what has a gradient is how likely they were."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.torch_names import spelling
from gradsense.fixes.tree import may_not_repeat
from gradsense.machine.graph import Cut
from gradsense.rules.editing import Code
from gradsense.rules.repairs.counting import given
from gradsense.rules.repairs.leaves import method_text
from gradsense.rules.repairs.repair import Repair

# What turns a whole number into one that is computed with, and what only changes sizes.
_AS_FLOAT = frozenset({"double", "float", "half"})
_SIZES = frozenset({"flatten", "reshape", "squeeze", "unsqueeze", "view"})
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow


def likelier(code: Code, call: ast.Call, cut: Cut) -> Iterator[Repair]:
    """The log-probability of what was drawn or chosen, where the number itself is computed with.

    Args:
        call: `probs.multinomial(1)`, `dist.sample()` of a discrete distribution, or an `argmax`.
    """
    statement = code.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = target if isinstance(target, ast.Name) and isinstance(statement, ast.Assign) else None
    if name is None or not isinstance(statement, ast.Assign):
        return
    squeezed = statement.value is not call
    if squeezed and not _only_sizes(code, call, statement.value):
        return
    region = code.function(call) or code.tree
    reads = [
        node
        for node in ast.walk(region)
        if isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Load)
    ]
    computed = [found for read in reads if (found := _computed_with(code, read)) is not None]
    if len(computed) != 1:
        return
    whole, sizes = computed[0]
    likelihood = _log_probability(code, call, cut, name.id, squeezed=squeezed)
    if likelihood is not None:
        edits = replace_expression(code.source, code.tree, whole, f"{likelihood}{sizes}")
        done = "chosen" if callee_name(call) == "argmax" else "drawn"
        yield Repair(f"compute with the log-probability of what was {done}", edits, False)


def soft_sample(code: Code, call: ast.Call, cut: Cut) -> Iterator[Repair]:
    """`gumbel_softmax(…, hard=True)` for the one-hot code of a sample."""
    functional = spelling(code.tree, call, "torch.nn.functional")
    logits = _logits(code, call, cut)
    if functional is None or logits is None:
        return
    around = [one for one in reversed(code.ancestors(call)) if isinstance(one, ast.Call)]
    coded = [one for one in around if callee_name(one) == "one_hot"]
    statement = code.statement(call)
    if not coded and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        region = code.function(call) or code.tree
        coded = [
            node
            for node in ast.walk(region)
            if isinstance(node, ast.Call)
            and callee_name(node) == "one_hot"
            and node.args
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id == name
        ]
    if len(coded) == 1:
        new = f"{functional}.gumbel_softmax({logits}, hard=True)"
        edits = replace_expression(code.source, code.tree, coded[0], new)
        yield Repair("draw with `gumbel_softmax`, which lets the gradient pass", edits, False)


def _logits(code: Code, call: ast.Call, cut: Cut) -> str | None:
    """The logarithms of the probabilities that a sample is drawn by."""
    if callee_name(call) == "sample":
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        plain = holder is not None and not call.args and not call.keywords and not may_not_repeat(holder)
        return f"{code.text(holder)}.logits" if plain and holder is not None else None
    probabilities, _ = given(code, call, "input", "num_samples")
    return None if probabilities is None or not _are_probabilities(cut) else f"{method_text(code, probabilities)}.log()"


def _log_probability(code: Code, call: ast.Call, cut: Cut, name: str, *, squeezed: bool) -> str | None:
    method = callee_name(call)
    if method == "sample":
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        if holder is None or call.args or call.keywords or may_not_repeat(holder) or squeezed:
            return None
        return f"{code.text(holder)}.log_prob({name})"
    probabilities, how = given(code, call, "input", "num_samples" if method == "multinomial" else "dim")
    if probabilities is None or may_not_repeat(probabilities) or not _are_probabilities(cut):
        return None
    text = method_text(code, probabilities)
    if method == "multinomial":
        one = isinstance(how, ast.Constant) and how.value == 1
        within = f"{name}.unsqueeze(-1)" if squeezed else name
        picked = f"{text}.gather(-1, {within}){'.squeeze(-1)' if squeezed else ''}"
        return f"{picked}.log()" if one else None
    shape = cut.lost[0].shape if cut.lost else None
    flat = method == "argmax" and not squeezed and how is None and not call.keywords
    return f"{text}[{name}].log()" if flat and shape is not None and len(shape) == 1 else None


def _are_probabilities(cut: Cut) -> bool:
    node = cut.lost[0].node if cut.lost else None
    return node is not None and node.op == "softmax"


def _only_sizes(code: Code, call: ast.Call, value: ast.expr) -> bool:
    """Whether an expression is a call with its last dimension taken off: `probs.multinomial(1).squeeze(-1)`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "squeeze"
        and value.func.value is call
    )


def _computed_with(code: Code, read: ast.Name) -> tuple[ast.expr, str] | None:
    """The expression in which a whole number becomes one that is computed with, and the methods for its sizes."""
    whole: ast.expr = read
    sizes = ""
    is_float = False
    around = list(code.ancestors(read))
    while len(around) > 1 and isinstance(around[-1], ast.Attribute) and isinstance(around[-2], ast.Call):
        attribute, called = around.pop(), around.pop()
        assert isinstance(attribute, ast.Attribute) and isinstance(called, ast.Call)
        if called.func is not attribute or attribute.attr not in _AS_FLOAT | _SIZES:
            return None
        is_float = is_float or attribute.attr in _AS_FLOAT
        if attribute.attr in _SIZES:
            arguments = ", ".join(code.text(one) for one in (*called.args, *called.keywords))
            sizes += f".{attribute.attr}({arguments})"
        whole = called
    parent = around[-1]
    computes = isinstance(parent, ast.BinOp) and isinstance(parent.op, _ARITHMETIC)
    return (whole, sizes) if is_float or computes else None
