"""Programs of all kinds, each with the lines of its story: `cases/expect.tsv`.

The table was written down from reports and then held against the programs and the lines known of their faults. A report
must have just these: where the error surfaces, which line saved and which ones wrote, which walk had freed the graph,
who holds what grows, and what torch does not notice.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"
with open(CASES / "expect.tsv", encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table, delimiter="\t"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"].split("_")[0])
def test_story(probed: Callable[..., dict[str, Any]], row: dict[str, str]) -> None:
    report = probed((CASES / row["file"]).read_text(encoding="utf-8"))
    assert report["outcome"] == row["outcome"], report["error"]
    assert {key: told(report[key]) for key in ("walk", "saved", "written", "freed")} == {
        key: row[key] for key in ("walk", "saved", "written", "freed")
    }
    assert ",".join(f"{holder['name']}:{holder['line']}" for holder in report["holders"]) == row["holders"]
    silent = [(fault, fault["written"]) for fault in report["silent"]]
    assert (
        ",".join(f"{fault['line']}:{written['line']}" if written else f"{fault['line']}" for fault, written in silent)
        == row["silent"]
    )


def test_every_case_is_in_the_table() -> None:
    assert sorted(path.name for path in CASES.glob("*.py")) == sorted(row["file"] for row in ROWS)


def told(places: Any) -> str:
    """The lines of places, each once."""
    places = places if isinstance(places, list) else [places]
    return ",".join(dict.fromkeys(str(place["line"]) for place in places if place is not None))
