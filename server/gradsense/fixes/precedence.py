"""Where an expression needs brackets."""

from __future__ import annotations

from functools import cache

import libcst as cst

# How tightly the binary operators bind, as the Python language reference orders them.
_BINDS = {
    "BitOr": 1,
    "BitXor": 2,
    "BitAnd": 3,
    "LeftShift": 4,
    "RightShift": 4,
    "Add": 5,
    "Subtract": 5,
    "Multiply": 6,
    "MatrixMultiply": 6,
    "Divide": 6,
    "FloorDivide": 6,
    "Modulo": 6,
    "Power": 8,
}
_UNARY = 7
_AWAIT = 9
_ATOM = 10


@cache
def _atoms() -> tuple[type[cst.BaseExpression], ...]:
    return (
        cst.Name,
        cst.Attribute,
        cst.Call,
        cst.Subscript,
        cst.SimpleString,
        cst.FormattedString,
        cst.List,
        cst.ListComp,
        cst.Set,
        cst.SetComp,
        cst.Dict,
        cst.DictComp,
        cst.Ellipsis,
    )


def binds(expression: cst.BaseExpression) -> int:
    """How tightly an expression holds together: 0 for a lambda or a comparison, 10 for an atom."""
    if expression.lpar or isinstance(expression, _atoms()):
        return _ATOM
    if isinstance(expression, cst.BinaryOperation):
        return _BINDS[type(expression.operator).__name__]
    if isinstance(expression, cst.UnaryOperation):
        return 0 if isinstance(expression.operator, cst.Not) else _UNARY
    if isinstance(expression, cst.Await):
        return _AWAIT
    return _ATOM if isinstance(expression, cst.BaseNumber | cst.BaseComp) else 0


def bracketed(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The expression with one more pair of brackets."""
    return expression.with_changes(lpar=[cst.LeftParen(), *expression.lpar], rpar=[*expression.rpar, cst.RightParen()])


def as_receiver(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The expression so that `.method` may follow it."""
    return expression if expression.lpar or isinstance(expression, _atoms()) else bracketed(expression)


def as_operand(expression: cst.BaseExpression, operator: cst.BaseBinaryOp, *, right: bool) -> cst.BaseExpression:
    """The expression so that it may stand beside a binary operator, with brackets where they keep its meaning."""
    own, needed = binds(expression), _BINDS[type(operator).__name__]
    if isinstance(operator, cst.Power):
        fits = own > needed or (right and own >= _UNARY)
    else:
        fits = own > needed or (own == needed and not right)
    return expression if fits else bracketed(expression)


def method_call(receiver: cst.BaseExpression, *methods: str) -> cst.BaseExpression:
    """`receiver.method()`, brackets around the receiver where it needs them."""
    if receiver.lpar and isinstance(receiver, _atoms()):
        # Brackets that only hold a chain over several lines go on holding it.
        inner = receiver.with_changes(lpar=[], rpar=[])
        call = _chain(inner, methods)
        return call.with_changes(lpar=receiver.lpar, rpar=receiver.rpar)
    return _chain(as_receiver(receiver), methods)


def _chain(receiver: cst.BaseExpression, methods: tuple[str, ...]) -> cst.BaseExpression:
    for method in methods:
        receiver = cst.Call(cst.Attribute(receiver, cst.Name(method)))
    return receiver
