"""Sets and drops keyword arguments of a call; commas, line breaks and comments stay where a person would put them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from gradsense.fixes.fix import Edits
from gradsense.fixes.precedence import bracketed
from gradsense.fixes.rewrite import Excerpt
from gradsense.syntax.source import Source

# Where torch's modules and functions take `inplace` as a positional argument (0 is the first).
INPLACE_POSITION = {
    "CELU": 1, "Dropout": 1, "Dropout1d": 1, "Dropout2d": 1, "Dropout3d": 1, "AlphaDropout": 1,
    "FeatureAlphaDropout": 1, "ELU": 1, "Hardsigmoid": 0, "Hardswish": 0, "Hardtanh": 2, "LeakyReLU": 1, "Mish": 0,
    "ReLU": 0, "ReLU6": 0, "RReLU": 2, "SELU": 0, "SiLU": 0, "Threshold": 2,
    "celu": 2, "dropout": 3, "dropout1d": 3, "dropout2d": 3, "dropout3d": 3, "alpha_dropout": 3,
    "feature_alpha_dropout": 3, "elu": 2, "hardsigmoid": 1, "hardswish": 1, "hardtanh": 3, "leaky_relu": 2, "mish": 1,
    "relu": 1, "relu6": 1, "rrelu": 4, "selu": 1, "silu": 1, "threshold": 3,
}  # fmt: skip


def set_keyword(
    source: Source, tree: ast.Module, call: ast.Call, name: str, value: str, position: int | None = None
) -> Edits | None:
    """Gives a call the keyword argument `name=value`, or changes the one it has.

    Args:
        call: the call.
        name: the keyword.
        value: the text of its value.
        position: where the callee takes the same argument by position, so that `grad(loss, xs, None, True)` is
            changed in place.

    Returns:
        None where the call has it so already, or passes `**options` that may hold the keyword.
    """
    excerpt, found = _open(source, tree, call)
    if excerpt is None or found is None:
        return None
    new_value = cst.parse_expression(value)
    present = _argument(found, name, position)
    if present is not None:
        if excerpt.code(present.value) == value:
            return None
        return excerpt.replace((present.value, new_value))
    if any(argument.star for argument in found.args):
        stars = {argument.star for argument in found.args}
        if "**" in stars or position is not None:
            return None
    return excerpt.replace((found, _with_argument(found, cst.Name(name), new_value)))


def drop_keyword(
    source: Source, tree: ast.Module, call: ast.Call, name: str, position: int | None = None
) -> Edits | None:
    """Takes a keyword argument out of a call.

    Args:
        call: the call.
        name: the keyword.
        position: where the callee takes the same argument by position; it goes only if it is the last one.

    Returns:
        None where the call has no such argument.
    """
    excerpt, found = _open(source, tree, call)
    if excerpt is None or found is None:
        return None
    without = without_argument(found, name, position)
    return None if without is None else excerpt.replace((found, without))


def inplace_false(source: Source, tree: ast.Module, call: ast.Call) -> Edits | None:
    """Turns `inplace=True` into `inplace=False`, also where it is given by position: `nn.ReLU(True)`.

    Returns:
        None where the call has no such argument or it is False already.
    """
    return _inplace_edit(source, tree, call, drop=False)


def drop_inplace(source: Source, tree: ast.Module, call: ast.Call) -> Edits | None:
    """Takes `inplace=True` out of a call, as False is what every torch callee takes without it.

    Returns:
        None where the call has no such argument.
    """
    return _inplace_edit(source, tree, call, drop=True)


def set_keywords(source: Source, tree: ast.Module, calls: Sequence[ast.Call], name: str, value: str) -> Edits | None:
    """Gives several calls the same keyword argument, such as `inplace=False` to all activations of a model.

    Calls that have it so already are left alone.

    Returns:
        None where no call changes.
    """
    edits: list[Edits] = []
    for call in calls:
        position = INPLACE_POSITION.get(callee_name(call)) if name == "inplace" else None
        one = set_keyword(source, tree, call, name, value, position)
        if one is not None:
            edits.append(one)
    return tuple(edit for one in edits for edit in one) or None


def callee_name(call: ast.Call) -> str:
    """The last part of what is called: `relu` for `F.relu(x)`; empty for `table[0](x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def without_argument(call: cst.Call, name: str, position: int | None = None) -> cst.Call | None:
    """The libcst call without a keyword, or without the last positional argument where that is it; None if absent."""
    present = _argument(call, name, position)
    if present is None:
        return None
    arguments = list(call.args)
    index = arguments.index(present)
    if present.keyword is None and index != len(arguments) - 1:
        return None
    if len(arguments) == 1:
        return call.with_changes(args=[], whitespace_before_args=cst.SimpleWhitespace(""))
    if index == len(arguments) - 1:
        previous = arguments[index - 1]
        arguments[index - 1] = _as_last(previous, present)
    del arguments[index]
    return call.with_changes(args=arguments)


def _inplace_edit(source: Source, tree: ast.Module, call: ast.Call, *, drop: bool) -> Edits | None:
    position = INPLACE_POSITION.get(callee_name(call))
    excerpt, found = _open(source, tree, call)
    if excerpt is None or found is None:
        return None
    present = _argument(found, "inplace", position)
    if present is None or excerpt.code(present.value) == "False":
        return None
    without = without_argument(found, "inplace", position) if drop else None
    if without is not None:
        return excerpt.replace((found, without))
    return excerpt.replace((present.value, cst.Name("False")))


def _open(source: Source, tree: ast.Module, call: ast.Call) -> tuple[Excerpt | None, cst.Call | None]:
    excerpt = Excerpt.around(source, tree, call)
    found = excerpt.expression(call) if excerpt else None
    return excerpt, found if isinstance(found, cst.Call) else None


def _argument(call: cst.Call, name: str, position: int | None) -> cst.Arg | None:
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        if all(argument.keyword is None and not argument.star for argument in before):
            return call.args[position]
    return None


def _with_argument(call: cst.Call, name: cst.Name, value: cst.BaseExpression) -> cst.Call:
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(value, keyword=name, equal=equal)
    if not call.args:
        return call.with_changes(args=[new], whitespace_before_args=cst.SimpleWhitespace(""))
    arguments = list(call.args)
    last = arguments[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        last = last.with_changes(value=bracketed(last.value))
    if isinstance(last.comma, cst.Comma):
        # A trailing comma moves on to the new argument, with the line break behind it.
        own = last.comma.whitespace_after
        between = _between(call, own)
        arguments[-1] = last.with_changes(comma=last.comma.with_changes(whitespace_after=between))
        after = _without_comment(own) if isinstance(own, cst.ParenthesizedWhitespace) else own
        new = new.with_changes(comma=cst.Comma(whitespace_after=after))
    else:
        own = last.whitespace_after_arg
        between = _between(call, own)
        arguments[-1] = last.with_changes(
            comma=cst.Comma(whitespace_after=between), whitespace_after_arg=cst.SimpleWhitespace("")
        )
        after = _without_comment(own) if isinstance(own, cst.ParenthesizedWhitespace) else own
        new = new.with_changes(whitespace_after_arg=after)
    return call.with_changes(args=[*arguments, new])


def _between(call: cst.Call, after_last: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The space between the last argument's comma and a new argument, in the layout of the others."""
    indent = _argument_indent(call)
    if isinstance(after_last, cst.ParenthesizedWhitespace):
        if indent is None:
            return after_last
        return after_last.with_changes(last_line=cst.SimpleWhitespace(indent), indent=False)
    return cst.SimpleWhitespace(" ")


def _argument_indent(call: cst.Call) -> str | None:
    """The indentation of arguments that stand on lines of their own, or None."""
    spaces = [call.whitespace_before_args]
    spaces += [argument.comma.whitespace_after for argument in call.args[:-1] if isinstance(argument.comma, cst.Comma)]
    for space in reversed(spaces):
        if isinstance(space, cst.ParenthesizedWhitespace):
            return space.last_line.value
    return None


def _without_comment(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """The line break alone: comments stay behind the argument that they were written for."""
    line = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return space.with_changes(first_line=line, empty_lines=[])


def _as_last(previous: cst.Arg, removed: cst.Arg) -> cst.Arg:
    """The argument before a removed last one, with the end of the list as the removed one had it."""
    comma = previous.comma
    assert isinstance(comma, cst.Comma)
    space = comma.whitespace_after
    ending = removed.comma.whitespace_after if isinstance(removed.comma, cst.Comma) else removed.whitespace_after_arg
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(ending, cst.ParenthesizedWhitespace):
        # The comment after the argument that stays is its own; only the bracket's indentation comes from the removed.
        ending = space.with_changes(last_line=ending.last_line, indent=ending.indent)
    elif isinstance(space, cst.ParenthesizedWhitespace) and space.first_line.comment is not None:
        ending = space
    if isinstance(removed.comma, cst.Comma):
        return previous.with_changes(comma=comma.with_changes(whitespace_after=ending))
    return previous.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=ending)
