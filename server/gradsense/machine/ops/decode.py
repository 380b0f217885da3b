"""Decodes the compact strings of ``ops.json``; its ``about.fields`` describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradsense.machine.ops.rows import Kind, OpRow, Param, Saves, View

_ONE: tuple[bool, ...] = (True,)


def decode_signature(text: str) -> tuple[Param, ...]:
    """Decodes ``input:t other:e * alpha:n=1``: keyword-only parameters follow ``*``, ``...`` marks a variadic one."""
    params: list[Param] = []
    keyword_only = False
    for token in text.split():
        if token == "*":
            keyword_only = True
            continue
        head, has_default, default = token.partition("=")
        variadic = head.endswith("...")
        name, _, kind = head.removesuffix("...").partition(":")
        params.append(
            Param(
                name, Kind(kind), not has_default, json.loads(default) if has_default else None, keyword_only, variadic
            )
        )
    return tuple(params)


def decode_saves(text: str) -> Saves:
    """Decodes ``other ?out0 $ !``: names, ``?`` before what holds in some calls only, ``$`` private, ``!`` raises."""
    tensors: set[str] = set()
    maybe: set[str] = set()
    private = raises = maybe_raises = unsupported = False
    for token in text.split():
        if token in ("$", "?$"):
            private = True
        elif token == "!":
            raises = True
        elif token == "?!":
            maybe_raises = True
        elif token == "#":
            unsupported = True
        elif token.startswith("?"):
            maybe.add(token[1:])
        else:
            tensors.add(token)
    return Saves(frozenset(tensors), private, raises, frozenset(maybe), maybe_raises, unsupported)


def _decode_map(data: Mapping[str, str]) -> dict[str, Saves]:
    return {name: decode_saves(text) for name, text in data.items()}


def decode_row(name: str, params: tuple[Param, ...], data: Mapping[str, Any]) -> OpRow:
    """Decodes one row of an op."""
    view, _, view_of = data.get("v", "none").partition(":")
    flags = data.get("d")
    return OpRow(
        name,
        params,
        View(view),
        view_of or "input",
        data.get("n", 1),
        _ONE if flags is None else tuple(flag == "1" for flag in flags),
        _decode_map(data.get("g", {})),
        _decode_map(data["i"]) if "i" in data else None,
        tuple(data.get("w", "").split()),
        tuple(data.get("x", "").split()),
        "g" not in data,
        data.get("r", "float"),
        _decode_map(data["c"]) if "c" in data else None,
    )
