"""Makes an in-place operation build a new tensor: `x += r` becomes `x = x + r`, `x.add_(r)` becomes `x = x.add(r)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.inplace_calls import Write, as_write, top_of_chain, viewed
from gradsense.fixes.insert import insert_before
from gradsense.fixes.keywords import callee_name, drop_inplace
from gradsense.fixes.precedence import as_operand
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.tree import (
    ancestors,
    header_of,
    may_not_repeat,
    read_after,
    same_expression,
    statement_of,
    stored_names,
)
from gradsense.syntax.source import Source

_CONDITIONAL = (
    ast.Lambda,
    ast.IfExp,
    ast.BoolOp,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def out_of_place(source: Source, tree: ast.Module, node: ast.stmt | ast.expr, *, items: bool = False) -> Edits | None:
    """Rewrites one in-place write so that it makes a new tensor.

    Covered are augmented assignments, in-place methods (`x.clamp_(0)`) and functions (`F.relu_(x)`), `inplace=True` and
    `out=`, as statements and within expressions, and `x[x < 0] = 0`. Where the written name is read later it is bound
    to the new tensor.

    Args:
        node: the statement, or the call that writes.
        items: whether a subscript is an item of a list or dict, which may be assigned to, and not a part of a tensor.

    Returns:
        None where the write cannot be moved out of place by an edit of this statement: a write to part of a tensor, a
        method without such a form, a name that another part of the same expression reads.
    """
    if isinstance(node, ast.AugAssign):
        return _augmented(source, tree, node, items=items)
    if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
        return _masked(source, tree, node)
    call = node.value if isinstance(node, ast.Expr | ast.Assign | ast.Return) else node
    return _call(source, tree, call, items=items) if isinstance(call, ast.Call) else None


def _augmented(source: Source, tree: ast.Module, statement: ast.AugAssign, *, items: bool) -> Edits | None:
    if isinstance(statement.target, ast.Subscript) and not items:
        return None
    if may_not_repeat(statement.target) or isinstance(statement.value, ast.Tuple):
        return None
    excerpt = Excerpt.around(source, tree, statement)
    old = excerpt.statement if excerpt else None
    if excerpt is None or not isinstance(old, cst.AugAssign):
        return None
    left = old.target
    if not isinstance(left, cst.Name | cst.Attribute | cst.Subscript):
        return None
    before, after = _spaces(old.operator)
    plain = cst.SimpleWhitespace("" if after.empty else " ")
    # `AddAssign` and `Add`, and so on.
    operator = getattr(cst, type(old.operator).__name__.removesuffix("Assign"))(before, after)
    value = cst.BinaryOperation(left.deep_clone(), operator, as_operand(old.value, operator, right=True))
    target = cst.AssignTarget(left, whitespace_before_equal=before, whitespace_after_equal=plain)
    return excerpt.replace((old, cst.Assign([target], value)))


def _spaces(operator: cst.BaseAugOp) -> tuple[cst.SimpleWhitespace, cst.SimpleWhitespace]:
    before, after = operator.children
    assert isinstance(before, cst.SimpleWhitespace) and isinstance(after, cst.SimpleWhitespace)
    return before, after


def _masked(source: Source, tree: ast.Module, statement: ast.Assign) -> Edits | None:
    """`x[x < 0] = 0` as `x = x.masked_fill(x < 0, 0)`: the mask is made from `x`, so the shapes agree."""
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Subscript):
        return None
    tensor, mask = target.value, target.slice
    number = statement.value.operand if isinstance(statement.value, ast.UnaryOp) else statement.value
    if not isinstance(tensor, ast.Name | ast.Attribute) or may_not_repeat(tensor):
        return None
    if not isinstance(number, ast.Constant) or not _has_shape_of(mask, tensor):
        return None
    excerpt = Excerpt.around(source, tree, statement)
    old = excerpt.statement if excerpt else None
    if excerpt is None or not isinstance(old, cst.Assign):
        return None
    subscript = old.targets[0].target
    assert isinstance(subscript, cst.Subscript)
    index, receiver = subscript.slice[0].slice, subscript.value
    if not isinstance(index, cst.Index) or not isinstance(receiver, cst.Name | cst.Attribute):
        return None
    filled = cst.Call(
        cst.Attribute(receiver.deep_clone(), cst.Name("masked_fill")),
        [cst.Arg(index.value, comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))), cst.Arg(old.value)],
    )
    return excerpt.replace((old, old.with_changes(targets=[cst.AssignTarget(receiver)], value=filled)))


def _has_shape_of(mask: ast.expr, tensor: ast.expr) -> bool:
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return _has_shape_of(mask.operand, tensor)
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd | ast.BitOr):
        return _has_shape_of(mask.left, tensor) and _has_shape_of(mask.right, tensor)
    if isinstance(mask, ast.Compare) and len(mask.comparators) == 1:
        return same_expression(mask.left, tensor) and isinstance(mask.comparators[0], ast.Constant)
    if isinstance(mask, ast.Call) and callee_name(mask) in {"isnan", "isinf", "isfinite"}:
        argument = mask.args[0] if mask.args else mask.func.value if isinstance(mask.func, ast.Attribute) else None
        return argument is not None and same_expression(argument, tensor)
    return False


def _call(source: Source, tree: ast.Module, call: ast.Call, *, items: bool) -> Edits | None:
    if callee_name(call)[:1].isupper():
        return drop_inplace(source, tree, call)
    statement = statement_of(tree, call)
    top = top_of_chain(tree, call)
    excerpt = Excerpt.around(source, tree, top)
    found = excerpt.expression(top) if excerpt else None
    if statement is None or excerpt is None or not isinstance(found, cst.Call):
        return None
    write = as_write(tree, top, found)
    if write is None:
        return None
    if isinstance(statement, ast.Expr) and statement.value is top:
        return _as_assignment(excerpt, write, items=items)
    if not _must_rebind(tree, statement, write.call, write.root):
        return excerpt.replace((found, write.new))
    if not _assignable(write.root, items=items):
        return None
    if isinstance(statement, ast.Assign) and statement.value is top:
        return _as_further_target(excerpt, write)
    return _as_two_statements(source, tree, statement, excerpt, found, write)


def _as_assignment(excerpt: Excerpt, write: Write, *, items: bool) -> Edits | None:
    statement = excerpt.statement
    if not isinstance(statement, cst.Expr) or not _assignable(write.root, items=items):
        return None
    target = _target(excerpt, write.root)
    return None if target is None else excerpt.replace((statement, cst.Assign([target], write.new)))


def _as_further_target(excerpt: Excerpt, write: Write) -> Edits | None:
    statement = excerpt.statement
    target = _target(excerpt, write.root)
    if not isinstance(statement, cst.Assign) or target is None:
        return None
    changed = statement.with_changes(targets=[*statement.targets, target], value=write.new)
    return excerpt.replace((statement, changed))


def _as_two_statements(
    source: Source, tree: ast.Module, statement: ast.stmt, excerpt: Excerpt, found: cst.Call, write: Write
) -> Edits | None:
    """`y = f(x.relu_())`, where `x` is read later, as `x = x.relu()` and `y = f(x)`."""
    around = ancestors(tree, write.call)
    inside = around[around.index(statement) + 1 :] if statement in around else ()
    if isinstance(statement, ast.While) or any(isinstance(parent, _CONDITIONAL) for parent in inside):
        return None
    root = excerpt.expression(write.root)
    if root is None or _occurs_beside(header_of(statement), write.call, write.root):
        return None
    name = excerpt.code(root)
    first = insert_before(source, tree, statement, f"{name} = {excerpt.code(write.new)}")
    return combine(first, excerpt.replace((found, root.deep_clone())))


def _target(excerpt: Excerpt, root: ast.expr) -> cst.AssignTarget | None:
    found = excerpt.expression(root)
    if not isinstance(found, cst.Name | cst.Attribute | cst.Subscript | cst.Tuple):
        return None
    target = found.deep_clone()
    return cst.AssignTarget(target if isinstance(target, cst.Tuple) else target.with_changes(lpar=[], rpar=[]))


def _occurs_beside(nodes: Sequence[ast.AST], call: ast.Call, tensor: ast.expr) -> bool:
    """Whether `tensor` is read in `nodes` elsewhere than in `call`."""
    read = [child for node in nodes for child in ast.walk(node) if isinstance(getattr(child, "ctx", None), ast.Load)]
    own = {id(child) for child in ast.walk(call)}
    return any(same_expression(child, tensor) and id(child) not in own for child in read)


def _must_rebind(tree: ast.Module, statement: ast.stmt, call: ast.Call, root: ast.expr) -> bool:
    """Whether somebody may see the written tensor again under its own name."""
    if isinstance(root, ast.Tuple):
        return any(_must_rebind(tree, statement, call, element) for element in root.elts)
    base = viewed(root)
    if isinstance(base, ast.Name):
        if _occurs_beside([statement], call, base):
            return True
        if isinstance(statement, ast.Assign) and base.id in stored_names(statement):
            return False
        return read_after(tree, statement, base.id)
    if isinstance(base, ast.Attribute):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return not any(same_expression(target, base) for target in targets)
    return False


def _assignable(root: ast.expr, *, items: bool) -> bool:
    if isinstance(root, ast.Tuple):
        return all(_assignable(element, items=items) for element in root.elts)
    if may_not_repeat(root):
        return False
    return isinstance(root, ast.Name | ast.Attribute) or (items and isinstance(root, ast.Subscript))
