"""Writes the table: aliases, the header that describes the fields, and one op a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch

from opsmeasure.distil import rows_of
from opsmeasure.gather import Gathered
from opsmeasure.kernels import cuda_books
from opsmeasure.naming import OPERATORS, canonical, public_names
from opsmeasure.signing import encode_signature, key_of, refine, table_signatures

FIELDS = {
    "aliases": "other names of an op, among them Python's operators; nn.functional's where the arguments are the same",
    "sig": (
        "signatures: name:kind, =default in JSON where it is optional, after * keyword-only, ... variadic;"
        " kinds: t tensor, l list of tensors, n number or numbers, e tensor or number, o other"
    ),
    "rows": "variants of the op, the first whose conditions hold is meant",
    "s": "the row's signature, 0 by default",
    "when": (
        'conditions by argument: "tensor", "none", "value" (neither), or a list of literals;'
        ' the index of getitem and setitem is a tensor, or "whole" (... and full slices), "basic",'
        ' "list", "mask", "tensors" (several, some of them tensors)'
    ),
    "n": "results, 1 by default; 0 where the number depends on the call, or where the result is no tensor",
    "d": "which results are differentiable, 1 or 0 each",
    "r": "the results' class: float by default, int, bool, or value for what is no tensor",
    "v": (
        "the result's storage: none by default, same (the argument itself), view, multi (one of several views),"
        " data (memory without version counter), maybe; then the argument, input by default"
    ),
    "g": (
        "what is saved when only that argument needs grad: names (out0 is a result; of a list, [] is another element"
        " and [=] the same one), $ private tensors, ! a second walk raises, ? before what holds in some calls only,"
        " # torch has no derivative; no g: nothing is differentiable"
    ),
    "i": "the same for the in-place form; out0 is the written tensor after the write",
    "w": "arguments that the op writes",
    "x": "arguments that torch refuses when they need grad",
    "c": "as g, for CUDA kernels, read from their formulas, where they save otherwise",
}


def _aliases(gathered: Gathered, keys: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = dict(OPERATORS)
    for alias, name in gathered.aliases.items():
        found[alias.removeprefix("torch.")] = key_of(name)
    for name, function in public_names().items():
        own = canonical(function)
        if f"nn.functional.{name}" in keys and name != "embedding_bag":
            found.setdefault(name, f"nn.functional.{name}")
        elif own is not None and key_of(own) != name:
            found.setdefault(name, key_of(own))
        found.setdefault(name, key_of(name))
    return {alias: name for alias, name in sorted(found.items()) if alias not in keys and name in keys}


_DEVICE_MOVES: dict[str, list[dict[str, Any]]] = {
    "to": [{"when": {"copy": [True]}, "g": {"input": ""}}, {"v": "maybe", "g": {"input": ""}}],
    "cpu": [{"v": "maybe", "g": {"input": ""}}],
    "cuda": [{"v": "maybe", "g": {"input": ""}}],
    "pin_memory": [{"v": "maybe", "g": {"input": ""}}],
}
"""Rows by hand: whether a move copies depends on the devices, and the measuring machine may have but one."""


def table_of(gathered: Gathered) -> dict[str, Any]:
    """The table as ``ops.json`` holds it."""
    ops: dict[str, Any] = {}
    for key in sorted(gathered.observed):
        observed = gathered.observed[key]
        signatures: list[str] = []
        rows: list[dict[str, Any]] = []
        for index, params in enumerate(table_signatures(key)):
            group = [seen for seen in observed if seen.signature == index]
            if not group:
                continue  # another signature takes the same calls: hsplit(x, 2) and hsplit(x, [2, 4])
            kinds: dict[str, set[Any]] = {}
            for seen in group:
                for name, kind in seen.kinds.items():
                    kinds.setdefault(name, set()).add(kind)
            rows += [{**row, "s": len(signatures)} if signatures else row for row in rows_of(group)]
            signatures.append(encode_signature(refine(params, kinds)))
        for row in rows:
            books = cuda_books(key, signatures[row.get("s", 0)])
            if books is not None:
                row["c"] = books
        ops[key] = {"sig": signatures, "rows": rows}
    for key, rows in _DEVICE_MOVES.items():
        ops[key] = {"sig": [encode_signature(params) for params in table_signatures(key)], "rows": rows}
    about = {"fields": FIELDS, "torch": torch.__version__.split("+")[0]}
    return {"about": about, "aliases": _aliases(gathered, ops), "ops": ops}


def text_of(table: Mapping[str, Any]) -> str:
    """The table as text, one op a line."""

    def dump(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    lines = ",\n".join(f"{dump(name)}:{dump(op)}" for name, op in sorted(table["ops"].items()))
    return f'{{"about":{dump(table["about"])},\n"aliases":{dump(table["aliases"])},\n"ops":{{\n{lines}\n}}}}\n'
