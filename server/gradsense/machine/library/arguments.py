"""Reading the arguments of library calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradsense.machine.values import Unknown, Value


def argument(
    arguments: Sequence[Value], keywords: Mapping[str, Value], position: int, name: str, default: Value = None
) -> Value:
    """The argument given by name or by position, else the default."""
    if name in keywords:
        return keywords[name]
    return arguments[position] if position < len(arguments) else default


def flag(value: Value, default: bool, unknown: bool) -> bool:
    """A boolean argument: `default` where it was not given (None), `unknown` where its value is not known."""
    if value is None:
        return default
    if isinstance(value, (bool, int)):
        return bool(value)
    return unknown if isinstance(value, Unknown) else default
