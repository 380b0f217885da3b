"""The calls that write in place, and each of them as a call that makes a new tensor."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import libcst as cst

from gradsense.fixes.inplace_names import DROP_UNDERSCORE, FUNCTIONS, OVERWRITING, stem, words
from gradsense.fixes.keywords import INPLACE_POSITION, callee_name, without_argument
from gradsense.fixes.precedence import method_call
from gradsense.fixes.torch_names import is_torch_function, spelling
from gradsense.fixes.tree import ancestors

# Methods and attributes whose result is the same storage seen otherwise: a write to it reaches the tensor.
_VIEWS = words(
    """
    T mT H mH data real imag as_strided chunk contiguous detach diagonal expand expand_as flatten narrow permute
    reshape select split squeeze swapaxes swapdims t transpose unbind unflatten unfold unsqueeze view view_as
    """
)


@dataclass(frozen=True, slots=True)
class Write:
    """A call that writes in place.

    Args:
        call: the outermost call of a chain of in-place calls.
        root: what they write to.
        new: the chain out of place.
    """

    call: ast.Call
    root: ast.expr
    new: cst.BaseExpression


def written_tensor(tree: ast.Module, node: ast.stmt | ast.expr) -> ast.expr | None:
    """The name or attribute whose tensor a statement or call writes to: `x` of `x[0] += 1` and of `x[:, 0].zero_()`.

    Returns:
        None where it writes to nothing that has a name.
    """
    target: ast.expr | None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Assign):
        target = node.targets[0] if len(node.targets) == 1 else None
    else:
        call = node.value if isinstance(node, ast.Expr) else node
        target = _written_by(tree, call) if isinstance(call, ast.Call) else None
    base = None if target is None else viewed(target)
    return base if isinstance(base, ast.Name | ast.Attribute) else None


def _written_by(tree: ast.Module, call: ast.Call) -> ast.expr | None:
    out = _keyword(call, "out")
    if out is not None:
        return out
    name = callee_name(call)
    position = INPLACE_POSITION.get(name)
    by_position = position is not None and len(call.args) > position
    if call.args and (by_position or _keyword(call, "inplace") is not None):
        return call.args[0]
    if stem(name) is None:
        return None
    if is_torch_function(tree, call.func):
        return call.args[0] if call.args else None
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(receiver, ast.Call):
        return _written_by(tree, receiver) or receiver
    return receiver


def top_of_chain(tree: ast.Module, call: ast.Call) -> ast.Call:
    """The last call of a chain of in-place calls: all of `x.add_(1).mul_(2)`, whichever of the two is given."""
    top: ast.Call = call
    around = (*ancestors(tree, call), call)
    for attribute, outer in zip(reversed(around[:-1]), reversed(around[:-2]), strict=False):
        if not (isinstance(attribute, ast.Attribute) and attribute.value is top):
            continue
        if not (isinstance(outer, ast.Call) and outer.func is attribute and stem(attribute.attr) is not None):
            break
        top = outer
    return top


def as_write(tree: ast.Module, call: ast.Call, found: cst.Call) -> Write | None:
    """What a call writes to, and the call out of place; None where it has no such form."""
    name = callee_name(call)
    out = _keyword(call, "out")
    if out is not None:
        without = without_argument(found, "out")
        return None if without is None else Write(call, out, without)
    if name in INPLACE_POSITION and call.args:
        position = INPLACE_POSITION[name]
        without = without_argument(found, "inplace", position)
        if without is None:
            arguments = [
                argument.with_changes(value=cst.Name("False")) if index == position else argument
                for index, argument in enumerate(found.args)
            ]
            if len(arguments) <= position:
                return None
            without = found.with_changes(args=arguments)
        return Write(call, call.args[0], without)
    if stem(name) is None:
        return None
    if is_torch_function(tree, call.func):
        return _function(call, found)
    return _method(tree, call, found)


def _function(call: ast.Call, found: cst.Call) -> Write | None:
    """`F.relu_(x)` as `F.relu(x)`; `relu_(x)`, imported by itself, as `relu_(x.clone())`."""
    base = stem(callee_name(call))
    if not call.args or found.args[0].star or base is None:
        return None
    func = found.func
    if isinstance(func, cst.Attribute) and base in DROP_UNDERSCORE | FUNCTIONS:
        renamed = found.with_changes(func=func.with_changes(attr=cst.Name(base)))
        return Write(call, call.args[0], renamed)
    first = found.args[0]
    copied = first.with_changes(value=method_call(first.value, "clone"))
    return Write(call, call.args[0], found.with_changes(args=[copied, *found.args[1:]]))


def _method(tree: ast.Module, call: ast.Call, found: cst.Call) -> Write | None:
    """`x.add_(a).mul_(b)` as `x.add(a).mul(b)`, from the inside out."""
    func = found.func
    if not isinstance(call.func, ast.Attribute) or not isinstance(func, cst.Attribute):
        return None
    base = stem(call.func.attr)
    receiver, root = func.value, call.func.value
    if isinstance(root, ast.Call) and isinstance(receiver, cst.Call) and stem(callee_name(root)) is not None:
        inner = as_write(tree, root, receiver)
        if inner is None:
            return None
        receiver, root = inner.new, inner.root
    if base is None or base in FUNCTIONS - DROP_UNDERSCORE:
        return None
    if base in DROP_UNDERSCORE:
        new = found.with_changes(func=func.with_changes(value=receiver, attr=cst.Name(base)))
        return Write(call, root, new)
    filled = _filled(tree, call, found, base) if root is call.func.value else None
    copied = func.with_changes(value=method_call(receiver, "clone"))
    return Write(call, root, filled or found.with_changes(func=copied))


def _filled(tree: ast.Module, call: ast.Call, found: cst.Call, base: str) -> cst.BaseExpression | None:
    """A new tensor for a method that gives the old value up: `torch.zeros_like(x)` for `x.zero_()`."""
    func = found.func
    if base not in OVERWRITING or not isinstance(func, cst.Attribute):
        return None
    number = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.keywords
    maker = "zeros_like" if base == "zero" else "full_like" if base == "fill" and number else "empty_like"
    name = spelling(tree, call, f"torch.{maker}")
    if name is None:
        return None
    arguments = [cst.Arg(func.value)]
    if maker == "full_like":
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        arguments = [cst.Arg(func.value, comma=comma), *found.args]
    made = cst.Call(cst.parse_expression(name), arguments)
    if maker != "empty_like":
        return made.with_changes(lpar=found.lpar, rpar=found.rpar)
    return found.with_changes(func=func.with_changes(value=made))


def viewed(expression: ast.expr) -> ast.expr:
    """What a view is a view of: `x` of `x[0].view(-1)`; an expression that makes a new tensor is its own base."""
    current = expression
    while True:
        if isinstance(current, ast.Subscript):
            current = current.value
        elif isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute) and current.func.attr in _VIEWS:
            current = current.func.value
        elif isinstance(current, ast.Attribute) and current.attr in _VIEWS:
            current = current.value
        else:
            return current


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
