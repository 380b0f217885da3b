"""Where an expression needs brackets."""

from __future__ import annotations

import libcst as cst

_ATOMS = (
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
# How tightly the binary operators bind, as the Python language reference orders them.
_BINDS: dict[type[cst.CSTNode], int] = {
    cst.BitOr: 1,
    cst.BitXor: 2,
    cst.BitAnd: 3,
    cst.LeftShift: 4,
    cst.RightShift: 4,
    cst.Add: 5,
    cst.Subtract: 5,
    cst.Multiply: 6,
    cst.MatrixMultiply: 6,
    cst.Divide: 6,
    cst.FloorDivide: 6,
    cst.Modulo: 6,
    cst.Power: 8,
}
_UNARY = 7
_AWAIT = 9
_ATOM = 10


def binds(expression: cst.BaseExpression) -> int:
    """How tightly an expression holds together: 0 for a lambda or a comparison, 10 for an atom."""
    if expression.lpar or isinstance(expression, _ATOMS):
        return _ATOM
    if isinstance(expression, cst.BinaryOperation):
        return _BINDS[type(expression.operator)]
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
    return expression if expression.lpar or isinstance(expression, _ATOMS) else bracketed(expression)


def as_operand(expression: cst.BaseExpression, operator: cst.BaseBinaryOp, *, right: bool) -> cst.BaseExpression:
    """The expression so that it may stand beside a binary operator, with brackets where they keep its meaning."""
    own, needed = binds(expression), _BINDS[type(operator)]
    if isinstance(operator, cst.Power):
        fits = own > needed or (right and own >= _UNARY)
    else:
        fits = own > needed or (own == needed and not right)
    return expression if fits else bracketed(expression)


def method_call(receiver: cst.BaseExpression, *methods: str) -> cst.BaseExpression:
    """`receiver.method()`, brackets around the receiver where it needs them."""
    if receiver.lpar and isinstance(receiver, _ATOMS):
        # Brackets that only hold a chain over several lines go on holding it.
        inner = receiver.with_changes(lpar=[], rpar=[])
        call = _chain(inner, methods)
        return call.with_changes(lpar=receiver.lpar, rpar=receiver.rpar)
    return _chain(as_receiver(receiver), methods)


def _chain(receiver: cst.BaseExpression, methods: tuple[str, ...]) -> cst.BaseExpression:
    for method in methods:
        receiver = cst.Call(cst.Attribute(receiver, cst.Name(method)))
    return receiver
