"""A run's report as JSON: paths as the person named them; in a notebook, lines by cell."""

from __future__ import annotations

from typing import Any

from gradsense.cli.result import from_here
from gradsense.run.report import Report
from gradsense.syntax import Source

Object = dict[str, Any]


def to_object(report: Report, source: Source | None) -> Object:
    """The published object.

    Args:
        source: the program that ran, where one did.
    """
    result: Object = _placed(report.to_json(), source)
    return result


def _placed(value: Any, source: Source | None) -> Any:
    if isinstance(value, list):
        return [_placed(item, source) for item in value]
    if not isinstance(value, dict):
        return value
    placed = {key: _placed(item, source) for key, item in value.items()}
    path, line = placed.get("path"), placed.get("line")
    if source is not None and isinstance(line, int) and path in (None, source.path):
        at = source.cell_at(line)
        if at is not None:
            placed["cell"], placed["line"] = at
    if isinstance(path, str):
        placed["path"] = from_here(path) or path
    return placed
