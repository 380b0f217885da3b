"""Reads ``native_functions.yaml`` as torch ships it (``torchgen/packaged``), without torch and without a YAML library.

The file is a list of mappings whose first key, ``func``, is one line of torch's own schema language; of the others only
``variants``, ``python_module``, ``structured_delegate`` and the keys of ``dispatch`` are needed, each on its own line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gradsense.machine.ops.entries import Entries
from gradsense.machine.ops.rows import Kind, Param

NATIVE_FUNCTIONS = Path("torchgen/packaged/ATen/native/native_functions.yaml")
_NUMBERS = ("Scalar", "SymInt", "int", "float", "bool")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a schema, or one result (whose name may be empty)."""

    name: str
    type: str
    default: str | None = None
    keyword_only: bool = False

    @property
    def kind(self) -> Kind:
        """What the argument takes."""
        base = re.sub(r"\([a-z!| ]*(?:-> [*a-z| ]+)?\)", "", self.type).rstrip("?")
        if base == "Tensor":
            return Kind.TENSOR
        if base.startswith("Tensor"):
            return Kind.TENSORS
        return Kind.NUMBER if re.sub(r"\[\d*\]\??$", "", base).rstrip("?") in _NUMBERS else Kind.OTHER

    @property
    def written(self) -> bool:
        """Whether the op writes to it."""
        return "!" in self.type

    @property
    def alias(self) -> str | None:
        """The letter that names the storage it shares, if any."""
        found = re.search(r"\(([a-z])", self.type)
        return found.group(1) if found else None


@dataclass(frozen=True, slots=True)
class Schema:
    """One overload of one op, such as ``add.Tensor``."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    module: str = ""
    method_only: bool = False
    composite: bool = False
    """Whether it is written in terms of other ops, so that it has no derivative of its own."""


def split_arguments(text: str) -> list[str]:
    """Splits at commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def parse_schema(text: str, module: str = "", method_only: bool = False, composite: bool = False) -> Schema:
    """Parses ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.

    Raises:
        ValueError: where the text is no schema.
    """
    head, paren, rest = text.partition("(")
    inner, arrow, result = rest.rpartition(") -> ")
    if not paren or not arrow:
        raise ValueError(f"not a schema: {text}")
    name, _, overload = head.strip().partition(".")
    arguments: list[Argument] = []
    keyword_only = False
    for part in split_arguments(inner):
        if part == "*":
            keyword_only = True
            continue
        typed, has_default, default = part.partition("=")
        kind, _, label = typed.rpartition(" ")
        arguments.append(Argument(label, kind, default if has_default else None, keyword_only))
    result = result.strip()
    if result.startswith("(") and result.endswith(")"):
        result = result[1:-1]
    returns = []
    for part in split_arguments(result):
        named_result = re.fullmatch(r"(.+?\S) (\w+)", part)
        returns.append(Argument(named_result.group(2), named_result.group(1)) if named_result else Argument("", part))
    return Schema(name, overload, tuple(arguments), tuple(returns), module, method_only, composite)


def read_schemas(site_packages: Path) -> Mapping[str, list[Schema]]:
    """Every schema of an installed torch, by op name; ``out=`` and named-dimension overloads are left out.

    Raises:
        OSError: where that folder holds no torchgen.
    """
    text = (site_packages / NATIVE_FUNCTIONS).read_text(encoding="utf-8")
    return Entries(text.split("\n- func:")[1:], _schemas_of)


def _schemas_of(blocks: list[str]) -> list[Schema]:
    schemas = []
    for block in blocks:
        lines = block.split("\n")
        fields = {}
        for line in lines[1:]:
            if line.startswith("  ") and line[2:3].isalpha():
                key, _, value = line.strip().partition(":")
                fields[key] = value.split("#")[0].strip()
        kernels = [line.strip().partition(":")[0] for line in lines[1:] if line.startswith("    ")]
        composite = not kernels and "structured_delegate" not in fields
        composite = composite or any("CompositeImplicitAutograd" in kernel for kernel in kernels)
        method_only = "function" not in fields.get("variants", "function")
        try:
            schema = parse_schema(lines[0].strip(), fields.get("python_module", ""), method_only, composite)
        except ValueError:
            continue
        named = any("Dimname" in argument.type for argument in schema.arguments)
        if not named and not any(argument.keyword_only and argument.written for argument in schema.arguments):
            schemas.append(schema)
    return schemas


def literal(default: str | None) -> object:
    """A schema's default as a Python value, None where it is a C++ name."""
    if default is None or default == "None":
        return None
    if default in ("True", "False"):
        return default == "True"
    try:
        value: object = json.loads(default.replace("'", '"'))
    except ValueError:
        return None
    return value


def _params(schema: Schema) -> list[Param]:
    arguments = list(schema.arguments)
    if schema.method_only:
        arguments.sort(key=lambda argument: argument.name != "self")
    positional = [argument for argument in arguments if not argument.keyword_only]
    lists = [argument for argument in positional if re.fullmatch(r"(Sym)?[Ii]nt\[\d*\]", argument.type)]
    only = lists[0] if len(lists) == 1 and positional[-1] is lists[0] and len(positional) <= 2 else None
    return [
        Param(
            "input" if argument.name == "self" else argument.name,
            argument.kind,
            argument.default is None,
            literal(argument.default),
            argument.keyword_only,
            argument is only,
        )
        for argument in arguments
    ]


def merge_params(first: list[Param], second: list[Param]) -> list[Param] | None:
    """One signature for two overloads, or None where their positions disagree."""
    one = [param for param in first if not param.keyword_only]
    two = [param for param in second if not param.keyword_only]
    if any(a.name != b.name for a, b in zip(one, two, strict=False)):
        return None
    longer, shorter = (one, two) if len(one) >= len(two) else (two, one)
    merged = []
    for place, param in enumerate(longer):
        if place >= len(shorter):
            merged.append(Param(param.name, param.kind, False, param.default, False, param.variadic))
            continue
        other = shorter[place]
        kind = param.kind if param.kind is other.kind else _either(param.kind, other.kind)
        required = param.required and other.required
        default = param.default if not param.required else other.default
        merged.append(Param(param.name, kind, required, default, False, param.variadic or other.variadic))
    names = {param.name for param in merged}
    for param in [*first, *second]:
        if param.keyword_only and param.name not in names:
            names.add(param.name)
            merged.append(Param(param.name, param.kind, False, param.default, True))
    return merged


def _either(one: Kind, two: Kind) -> Kind:
    kinds = {one, two}
    if kinds <= {Kind.TENSOR, Kind.NUMBER, Kind.EITHER}:
        return Kind.EITHER
    return Kind.TENSORS if Kind.TENSORS in kinds else Kind.OTHER


def signatures(schemas: list[Schema]) -> list[tuple[Param, ...]]:
    """The public signatures of an op's overloads, as few as their positions allow."""
    merged: list[list[Param]] = []
    for schema in schemas:
        params = _params(schema)
        for place, known in enumerate(merged):
            both = merge_params(known, params)
            if both is not None:
                merged[place] = both
                break
        else:
            merged.append(params)
    return [tuple(params) for params in merged]
