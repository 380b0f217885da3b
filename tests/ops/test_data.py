"""The data file: complete, small, consistent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradsense.machine.ops import table as table_module
from gradsense.machine.ops.decode import decode_row, decode_signature
from gradsense.machine.ops.rows import Kind, OpRow, Saves

FILE = Path(table_module.__file__).with_name("ops.json")
DATA = json.loads(FILE.read_text(encoding="utf-8"))
ROWS = [
    (name, row, decode_row(name, decode_signature(op["sig"][row.get("s", 0)]), row))
    for name, op in DATA["ops"].items()
    for row in op["rows"]
]


def test_size_and_order() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert list(DATA["ops"]) == sorted(DATA["ops"])
    assert len(text.splitlines()) == len(DATA["ops"]) + 4


def test_every_field_is_described() -> None:
    used = {"aliases", "sig", "rows"} | {field for _, data, _ in ROWS for field in data}
    assert used <= set(DATA["about"]["fields"])


def test_aliases_lead_to_ops() -> None:
    assert not set(DATA["aliases"]) & set(DATA["ops"])
    assert set(DATA["aliases"].values()) <= set(DATA["ops"])


def test_every_op_has_a_row_for_every_call() -> None:
    for name, op in DATA["ops"].items():
        assert {row.get("s", 0) for row in op["rows"]} == set(range(len(op["sig"]))), name
        for index in {row.get("s", 0) for row in op["rows"]}:
            last = [row for row in op["rows"] if row.get("s", 0) == index][-1]
            assert "when" not in last or name in ("getitem", "setitem"), name


def _names(row: OpRow) -> set[str]:
    names = {f"out{place}" for place in range(max(8, row.outputs))}
    for param in row.params:
        names.add(param.name)
        if param.kind is Kind.TENSORS or param.name == "index":
            names |= {f"{param.name}[]", f"{param.name}[=]"}
    names |= {f"params[{gate}]" for gate in ("w_ih", "w_hh", "b_ih", "b_hh")} | {"hx[h]", "hx[c]"}
    return names


@pytest.mark.parametrize("book", ["saves", "inplace", "cuda"])
def test_names_are_parameters_or_results(book: str) -> None:
    for name, _, row in ROWS:
        books: dict[str, Saves] = getattr(row, book) or {}
        for wrt, saves in books.items():
            assert {wrt, *saves.tensors, *saves.maybe} <= _names(row), (name, wrt)


def test_conditions_name_parameters() -> None:
    for name, data, row in ROWS:
        for argument, test in data.get("when", {}).items():
            assert row.param(argument) is not None, name
            assert isinstance(test, list) or test in ("tensor", "none", "value"), name


def test_saving_something_makes_a_second_walk_raise() -> None:
    for name, _, row in ROWS:
        for saves in {**row.saves, **(row.inplace or {})}.values():
            if saves.tensors and not saves.unsupported:
                assert saves.second_walk_raises or saves.maybe_raises, name


def test_breadth() -> None:
    differentiable = {name for name, _, row in ROWS if not row.nondifferentiable}
    assert len(DATA["ops"]) > 650 and len(differentiable) > 520
    assert sum("i" in data for _, data, _ in ROWS) > 170
