"""What an annotation tells of a value that nobody gave: the class of the program that it is an object of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_PLAIN = frozenset(("int", "float", "str", "bool"))
# `Optional[X]`, `Annotated[X, …]` and their kin are an X.
_WRAPPERS = frozenset(("Optional", "Annotated", "Final", "Required", "NotRequired"))
_SEQUENCES = frozenset(
    ("list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "tuple", "Tuple", "ModuleList")
)


def named(annotation: ast.expr) -> tuple[ast.expr, bool] | None:
    """The name in an annotation, and whether it is that of the items of a sequence.

    None where it names nothing or several things: `Union[A, B]` may be either.
    """
    found = list(_alternatives(annotation))
    if len(found) != 1:
        return None
    [one] = found
    if isinstance(one, (ast.Name, ast.Attribute)):
        return one, False
    if not isinstance(one, ast.Subscript) or _last(one.value) not in _SEQUENCES:
        return None
    inner = one.slice
    if isinstance(inner, ast.Tuple):
        # Of tuples, those of any length.
        ellipsis = len(inner.elts) == 2 and isinstance(inner.elts[1], ast.Constant) and inner.elts[1].value is ...
        if not ellipsis:
            return None
        inner = inner.elts[0]
    items = list(_alternatives(inner))
    if len(items) == 1 and isinstance(items[0], (ast.Name, ast.Attribute)):
        return items[0], True
    return None


def is_plain(annotation: ast.expr) -> bool:
    """Whether only numbers and texts are allowed."""
    found = list(_alternatives(annotation))
    return bool(found) and all(isinstance(one, ast.Name) and one.id in _PLAIN for one in found)


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    """What a value may be, apart from None."""
    if isinstance(annotation, ast.Constant):
        if isinstance(annotation.value, str):
            try:
                inner = ast.parse(annotation.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                yield annotation
                return
            yield from _alternatives(inner)
        elif annotation.value is not None:
            yield annotation
    elif isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript) and _last(annotation.value) in _WRAPPERS:
        inner = annotation.slice
        yield from _alternatives(inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner)
    elif isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Union":
        inner = annotation.slice
        for part in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
            yield from _alternatives(part)
    else:
        yield annotation


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
