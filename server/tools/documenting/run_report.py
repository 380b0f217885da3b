"""The JSON schema of a run's report, from the classes that hold it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from typing import Any

from documenting.settings import _described
from gradsense.run.report import Report

KINDS: dict[object, str] = {int: "integer", float: "number", str: "string", bool: "boolean"}
# What the command line adds in a notebook, and what is there only sometimes.
CELL = {"type": "integer", "description": "of a notebook, the cell among all of its cells, from 0"}
OPTIONAL = {"ranks", "fix"}
UNPUBLISHED = {"roots"}


def schema() -> str:
    """The schema, as the file holds it."""
    definitions: dict[str, Any] = {}
    top = _object(Report, definitions)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `gradsense run --output-format json` prints",
        **top,
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _object(owner: type, definitions: dict[str, Any]) -> dict[str, Any]:
    described, kinds = _described(owner), typing.get_type_hints(owner)
    properties = {}
    published = [field for field in dataclasses.fields(owner) if field.name not in UNPUBLISHED]
    for field in published:
        found = _kind(kinds[field.name], definitions)
        text = described.get(field.name)
        properties[field.name] = {**found, "description": text} if text else found
    if "line" in properties:
        properties["cell"] = CELL
    required = [field.name for field in published if field.name not in OPTIONAL]
    if owner.__name__ == "Spot":
        # The line of the walk has nothing more.
        required = ["path", "line"]
    doc = inspect.getdoc(owner) or ""
    return {
        "type": "object",
        "description": " ".join(doc.partition("\n\n")[0].split()),
        "properties": properties,
        "required": required,
    }


def _kind(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind in KINDS:
        # A number that JSON lacks, such as NaN, is null.
        return {"type": ["number", "null"]} if kind is float else {"type": KINDS[kind]}
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _kind(arguments[0], definitions)}
    if origin in (typing.Union, types.UnionType):
        inner = next(argument for argument in arguments if argument is not type(None))
        return {"anyOf": [_kind(inner, definitions), {"type": "null"}]}
    if kind is not Report and kind.__name__ not in definitions:
        definitions[kind.__name__] = {}
        definitions[kind.__name__] = _object(kind, definitions)
    return {"$ref": "#" if kind is Report else f"#/$defs/{kind.__name__}"}
