"""The summary that the measuring command prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsmeasure.gather import Gathered
from opsmeasure.naming import public_names


def _books(op: Mapping[str, Any]) -> list[str]:
    return [text for row in op["rows"] for text in row.get("g", {}).values()]


def uncovered(table: Mapping[str, Any]) -> list[str]:
    """Public names that the table has neither as an op nor as an alias."""
    known = set(table["ops"]) | set(table["aliases"])
    return sorted(
        name
        for name in public_names()
        if not {name, name.rstrip("_"), f"Tensor.{name}", f"Tensor.{name.rstrip('_')}"} & known
    )


def summary(gathered: Gathered, table: Mapping[str, Any], size: int, seconds: float) -> str:
    """How many ops, rows and measurements there are, and what went wrong."""
    ops = table["ops"].values()
    differentiable = [op for op in ops if any("g" in row for row in op["rows"])]
    silent = [op for op in differentiable if _books(op) and not any(_books(op))]
    unsure = [op for op in differentiable if any("?" in text for text in _books(op))]
    missing = uncovered(table)
    lines = [
        f"torch {table['about']['torch']}",
        f"ops {len(ops)}, aliases {len(table['aliases'])}, rows {sum(len(op['rows']) for op in ops)}",
        f"differentiable {len(differentiable)}, saving nothing {len(silent)}, not sure in all calls {len(unsure)}",
        f"in-place forms {sum(any('i' in row for row in op['rows']) for op in ops)}",
        *(f"{name} {count}" for name, count in gathered.counts.items()),
        f"{size} bytes, {seconds:.0f} seconds",
        f"public names not covered {len(missing)}: {' '.join(missing)}",
        *gathered.problems,
    ]
    return "\n".join(lines)
