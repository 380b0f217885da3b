"""What kinds of values settings have, wherever they are written; each message goes on after the setting's name."""

from __future__ import annotations

from typing import Any


def flag(value: Any) -> bool:
    """Checks a yes or no.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def strings(value: Any) -> tuple[str, ...]:
    """Checks a list of strings.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)
