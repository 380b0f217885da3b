"""How a step is run, as `[tool.gradsense.run]` and an editor's settings say it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradsense import setting_values
from gradsense.run.spec import DEFAULT_BATCHES, DEFAULT_PASSES

DEFAULT_TIME_LIMIT = 60.0
DEVICE = re.compile(r"auto|cpu|mps|xpu|cuda(?::[0-9]+)?")


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run.

    Args:
        interpreter: the Python, or the folder of its environment; None to search for one.
        passes, batches: to how many passes and batches loops are cut.
        time_limit: seconds that the step may take.
        device: where it runs; `auto` for what the program asks for.
        args: the program's arguments.
        env: variables on top of those of the environment.
        cwd: the working folder; None for the usual one.
    """

    interpreter: str | None = None
    passes: int = DEFAULT_PASSES
    batches: int = DEFAULT_BATCHES
    time_limit: float = DEFAULT_TIME_LIMIT
    device: str = "auto"
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


def read_table(table: Any) -> dict[str, Any]:
    """Checks a table of run settings.

    Args:
        table: keys as they are written in `pyproject.toml` (`time-limit`).

    Returns:
        The values by the names of `RunSettings`.

    Raises:
        ValueError: one is not usable; the message goes on after the table's name.
    """
    if not isinstance(table, Mapping):
        raise ValueError("must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            raise ValueError(f"has an unknown setting `{key}` (there are {', '.join(_READERS)})")
        try:
            values[key.replace("-", "_")] = reader(value)
        except ValueError as error:
            raise ValueError(f"has a `{key}` that {error}") from None
    return values


def device(value: Any) -> str:
    """Checks the name of a device.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not DEVICE.fullmatch(value):
        raise ValueError("must be auto, cpu, cuda, or one such as cuda:1")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a number from 1")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("must be a number of seconds")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be text")
    return value


def _interpreter(value: Any) -> str | None:
    """A path, or a list whose first item is one, as editors that ask Python for it have."""
    if isinstance(value, list):
        value = value[0] if value else None
    return None if value in (None, "") else _text(value)


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a table of variables")
    if not all(isinstance(item, str | int | float) for item in value.values()):
        raise ValueError("must have texts or numbers as values")
    return {str(name): str(item) for name, item in value.items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    "interpreter": _interpreter,
    "passes": _count,
    "batches": _count,
    "time-limit": _seconds,
    "device": device,
    "args": setting_values.strings,
    "env": _variables,
    "cwd": _text,
}
