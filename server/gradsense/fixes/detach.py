"""Cuts a value from its graph: `h` becomes `h.detach()`, whatever `h` is and wherever it stands."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from gradsense.fixes.fix import Edits, combine
from gradsense.fixes.methods import call_method, drop_last
from gradsense.fixes.precedence import method_call
from gradsense.fixes.rewrite import Excerpt
from gradsense.fixes.values import is_cut, links
from gradsense.syntax.source import Source


def detach(source: Source, tree: ast.Module, *expressions: ast.expr) -> Edits | None:
    """Turns each expression into `expression.detach()`.

    Returns:
        None where one of them has no graph by its spelling already, or cannot have a method.
    """
    if not expressions or any(is_cut(expression) for expression in expressions):
        return None
    return combine(*(call_method(source, tree, expression, "detach") for expression in expressions))


def clone_value(source: Source, tree: ast.Module, *expressions: ast.expr) -> Edits | None:
    """Turns each expression into `expression.clone()`; None where one of them is a clone already."""
    if not expressions or any(_last_link(expression) == "clone" for expression in expressions):
        return None
    return combine(*(call_method(source, tree, expression, "clone") for expression in expressions))


def detach_clone(source: Source, tree: ast.Module, expression: ast.expr) -> Edits | None:
    """Turns an expression into a copy that shares neither graph nor storage: `x.detach().clone()`.

    `x.detach()` only gets the `.clone()`, and `x.data` becomes `x.detach().clone()`.

    Returns:
        None where it is such a copy already.
    """
    chain = [name for name, _ in links(expression)]
    if chain[:1] == ["clone"]:
        return None if is_cut(expression) else call_method(source, tree, expression, "detach")
    if isinstance(expression, ast.Attribute) and expression.attr == "data":
        excerpt = Excerpt.around(source, tree, expression)
        found = excerpt.expression(expression) if excerpt else None
        if excerpt is None or not isinstance(found, cst.Attribute):
            return None
        copy = method_call(found.value, "detach", "clone")
        return excerpt.replace((found, copy.with_changes(lpar=found.lpar, rpar=found.rpar)))
    if chain[:1] == ["detach"]:
        return call_method(source, tree, expression, "clone")
    return call_method(source, tree, expression, "detach", "clone")


def undetach(source: Source, tree: ast.Module, expression: ast.expr) -> Edits | None:
    """Takes `.detach()` or `.data` off the end of an expression, so that its graph stays.

    Returns:
        None where the expression ends in neither.
    """
    return drop_last(source, tree, expression) if _last_link(expression) in {"detach", "data"} else None


def detach_structure(
    source: Source, tree: ast.Module, expression: ast.expr, kinds: Sequence[str], helper: str | None = None
) -> Edits | None:
    """Turns an expression that is a tuple, list or dict of tensors into the same structure of detached tensors.

    Args:
        expression: the whole structure, as it is read (not assigned to).
        kinds: what it is, outermost first, of `tuple`, `list` and `dict`: `("list", "tuple")` is a list of LSTM states.
        helper: the name of a function of the program that does it, such as `repackage_hidden`.

    Returns:
        None where the expression is a target or spans an f-string.
    """
    if isinstance(getattr(expression, "ctx", None), ast.Store | ast.Del) or isinstance(expression, ast.Starred):
        return None
    excerpt = Excerpt.around(source, tree, expression)
    found = excerpt.expression(expression) if excerpt else None
    if excerpt is None or found is None:
        return None
    # A generator needs brackets of its own where it is iterated over inside another one.
    bare = isinstance(found, cst.Tuple | cst.Lambda | cst.IfExp | cst.NamedExpr | cst.Yield) and not found.lpar
    code = detached_code(excerpt.code(found), kinds, helper, bare=bare)
    return excerpt.replace((found, cst.parse_expression(code)))


def detached_code(code: str, kinds: Sequence[str] = (), helper: str | None = None, *, bare: bool = False) -> str:
    """The text of the detached twin of a value, for statements such as `h = tuple(s.detach() for s in h)`.

    Args:
        code: the value's own text.
        kinds: what it is, outermost first, of `tuple`, `list` and `dict`; empty for one tensor.
        helper: the name of a function of the program that does it.
        bare: whether the text needs brackets before anything may follow it.
    """
    if helper is not None:
        return f"{helper}({f'({code})' if bare else code})"
    value = f"({code})" if bare else code
    if not kinds:
        return f"{value}.detach()"
    kind, inner = kinds[0], kinds[1:]
    if kind == "dict":
        key, item = _fresh(code, "k"), _fresh(code, "v")
        return f"{{{key}: {detached_code(item, inner)} for {key}, {item} in {value}.items()}}"
    item = _fresh(code, "s")
    if kind == "list":
        return f"[{detached_code(item, inner)} for {item} in {value}]"
    return f"tuple({detached_code(item, inner)} for {item} in {value})"


def _fresh(code: str, name: str) -> str:
    """A short name for a loop variable that the value's text does not use."""
    used = {child.id for child in ast.walk(ast.parse(f"({code}\n)", mode="eval")) if isinstance(child, ast.Name)}
    while name in used:
        name = "t" if name == "s" else f"{name}_"
    return name


def _last_link(expression: ast.expr) -> str | None:
    return next((name for name, _ in links(expression)), None)
