"""Dataclasses from JSON. What a newer or older worker adds is passed over, what it leaves out has its default.

cattrs is slow to import, and most who import this never get to read anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")


def from_json(value: Mapping[str, Any], kind: type[T]) -> T:
    """Makes a dataclass of an object that JSON was read to.

    Raises:
        ValueError: a field is missing or has not the type that it should; the message says which.
    """
    from cattrs import transform_error
    from cattrs.errors import BaseValidationError

    try:
        return _converter().structure(_told(value), kind)
    except BaseValidationError as error:
        raise ValueError("; ".join(transform_error(error))) from None


def _told(value: Any) -> Any:
    """Without nulls, so that what is null has its default."""
    if isinstance(value, Mapping):
        return {key: _told(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    return value


@cache
def _converter() -> Converter:
    from cattrs import Converter

    return Converter()
