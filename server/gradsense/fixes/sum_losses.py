"""Walks several losses over one graph in one go: `(l1 + l2).backward()`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

import libcst as cst

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.precedence import as_operand, bracketed
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.tree import block_of, loaded_names, same_expression, stored_names
from gradsense.fixes.values import is_number
from gradsense.syntax.source import Source

# Calls between two walks that use or change what the first one left behind.
_BARRIERS = frozenset({
    "step", "zero_grad", "backward", "manual_backward", "update", "clip_grad_norm_", "clip_grad_value_", "unscale_",
    "grad", "optimizer_step", "toggle_optimizer", "untoggle_optimizer", "no_sync", "synchronize", "all_reduce",
})  # fmt: skip


def sum_losses(source: Source, tree: ast.Module, backwards: Sequence[ast.stmt]) -> Edits | None:
    """Turns several walks in one block into a single walk of their losses' sum, where the last of them stands.

    `l1.backward()` and `(0.5 * l2).backward()` become `(l1 + 0.5 * l2).backward()`; `scaler.scale(l1).backward()` and
    `accelerator.backward(l1)` keep their form. The last walk's `retain_graph` stays as it is.

    Args:
        backwards: the statements that walk, in the order of the text; at least two.

    Returns:
        None where one of them has other arguments or another form than the rest, or where a step, a zeroed gradient,
        control flow or a new binding of an earlier loss lies between.
    """
    calls = [call for call in map(_walk, backwards) if call is not None]
    block = block_of(tree, backwards[0]) if len(backwards) > 1 else None
    losses = _losses(calls)
    if block is None or losses is None or len(calls) != len(backwards):
        return None
    places = [index for index, one in enumerate(block.statements) if any(one is each for each in backwards)]
    if len(places) != len(backwards):
        return None
    made_of: set[str] = set()
    for (before, after), loss in zip(pairwise(places), losses, strict=False):
        # What the earlier losses are made of has to stay as it is until the last walk.
        made_of |= loaded_names(loss)
        if not all(_is_harmless(statement, made_of) for statement in block.statements[before + 1 : after]):
            return None
    return _summed(source, tree, backwards, losses)


def _walk(statement: ast.stmt) -> ast.Call | None:
    """The call of a statement that walks a graph and does nothing else."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    plain = all(keyword.arg == "retain_graph" for keyword in call.keywords)
    return call if plain and call.func.attr in {"backward", "manual_backward"} else None


def _losses(calls: Sequence[ast.Call]) -> list[ast.expr] | None:
    """What the calls walk from; None where they do not all have the same form."""
    if not calls:
        return None
    if all(len(call.args) == 1 and same_expression(call.func, calls[0].func) for call in calls):
        return [call.args[0] for call in calls]
    receivers = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and not call.args]
    if len(receivers) != len(calls):
        return None
    scaled = [receiver for receiver in receivers if isinstance(receiver, ast.Call) and _scales(receiver)]
    if not scaled:
        return receivers
    if len(scaled) == len(calls) and all(same_expression(one.func, scaled[0].func) for one in scaled):
        return [one.args[0] for one in scaled]
    return None


def _scales(call: ast.Call) -> bool:
    """Whether a call is a gradient scaler's `scaler.scale(loss)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "scale" and len(call.args) == 1


def _is_harmless(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement between two walks neither uses the first one's gradients nor changes what is walked."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Pass | ast.Assert):
        return False
    if stored_names(statement) & names or _may_write_in_place(statement):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and (
            node.attr in _BARRIERS or node.attr == "grad" or node.attr.endswith("_step")
        ):
            return False
        if isinstance(node, ast.Name) and node.id in _BARRIERS:
            return False
    return True


def _may_write_in_place(statement: ast.stmt) -> bool:
    """Whether a simple statement may write to a tensor that a graph saved."""
    if isinstance(statement, ast.AugAssign):
        return not is_number(statement.value) or isinstance(statement.value, ast.Constant)
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr.endswith("_") and not node.attr.endswith("__"):
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            key = node.slice
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                return True
    return False


def _summed(
    source: Source, tree: ast.Module, backwards: Sequence[ast.stmt], losses: Sequence[ast.expr]
) -> Edits | None:
    excerpts = [Excerpt.around(source, tree, loss) for loss in losses]
    found = [excerpt.expression(loss) if excerpt else None for excerpt, loss in zip(excerpts, losses, strict=True)]
    last, target = excerpts[-1], found[-1]
    if last is None or target is None:
        return None
    plus = cst.Add()
    total: cst.BaseExpression | None = None
    for loss in found:
        if loss is None:
            return None
        bare = loss.with_changes(lpar=[], rpar=[]) if _fits_on_a_line(loss) else loss
        total = (
            as_operand(bare, plus, right=False)
            if total is None
            else cst.BinaryOperation(total, plus, as_operand(bare, plus, right=True))
        )
    assert total is not None
    arguments = [node for call in ast.walk(backwards[-1]) if isinstance(call, ast.Call) for node in call.args]
    is_argument = any(node is losses[-1] for node in arguments)
    edits = last.replace((target, total if is_argument else bracketed(total)))
    return combine(*(remove_statement(source, tree, statement) for statement in backwards[:-1]), edits)


def _fits_on_a_line(loss: cst.BaseExpression) -> bool:
    return len(loss.lpar) == 1 and not any(isinstance(child, cst.ParenthesizedWhitespace) for child in _inside(loss))


def _inside(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [node, *(deeper for child in node.children for deeper in _inside(child))]
