"""Reads ``derivatives.yaml`` as torch ships it, without torch and without a YAML library.

The file is a list of mappings. A key that names arguments has a formula, a C++ expression on one line or in quotes
over several; a ``dispatch`` mapping holds such keys once more for each kind of tensor, of which ``Default`` counts
here. What a formula saves is found as torch's own code generator finds it (``load_derivatives.py`` and
``gen_variable_type.py`` beside the file): an argument that is still named after sizes, dtypes and the like are struck
out is saved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradsense.machine.ops.entries import Entries
from gradsense.machine.ops.rows import Kind
from gradsense.machine.ops.schemas import Argument, Schema, parse_schema

DERIVATIVES = Path("torchgen/packaged/autograd/derivatives.yaml")
_METADATA = (
    r"(?:zeros_like|to_args_sizes|to_args_sizes_symint|to_args_scalartypes|TensorGeometry)\({0}\)",
    r"\b{0}(?:\.|->)(?:sym_)?(?:sizes|strides|numel|blocksize)\(\)",
    r"\b{0}\.(?:sym_)?size\(-?\w+\)",
    r"\b{0}\.(?:options|scalar_type|dim|layout|is_conj)\(\)",
)
_KEY = re.compile(r"([A-Za-z_]\w*(?:, *\w+)*):(?: (.*))?$")


@dataclass
class Formulas:
    """The derivatives of one schema."""

    schema: Schema
    by_arguments: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Formulas by the arguments that they belong to."""
    refused: set[str] = field(default_factory=set)
    differentiable: list[bool] | None = None
    """Which results are differentiable, where the file says so."""

    def arguments(self) -> list[str]:
        """The arguments that have a derivative."""
        return [name for names in self.by_arguments for name in names]

    def unsupported(self, argument: str) -> bool:
        """Whether torch says that this derivative is not implemented."""
        return any(argument in names and "not_implemented" in text for names, text in self.by_arguments.items())

    def saved_arguments(self, needs_grad: str) -> set[str]:
        """The tensor arguments that are saved when one argument needs grad."""
        return {
            argument.name
            for argument in self.schema.arguments
            if argument.kind in (Kind.TENSOR, Kind.TENSORS) and self._saved(argument, needs_grad)
        }

    def saved_results(self) -> set[str]:
        """The results that are saved, as ``out0``, ``out1`` …; torch saves them whatever needs grad."""
        saved = set()
        for place, result in enumerate(self.schema.returns):
            names = {f"result{place}", result.name} if len(self.schema.returns) > 1 else {"result", result.name}
            if any(_uses(text, name) for text in self.by_arguments.values() for name in names if name):
                saved.add(f"out{place}")
        return saved

    def _saved(self, argument: Argument, needs_grad: str) -> bool:
        using = [(names, text) for names, text in self.by_arguments.items() if _uses(text, argument.name)]
        if not using:
            return False
        lists = any(other.kind is Kind.TENSORS for other in self.schema.arguments)
        unguarded = lists or "backward" in self.schema.name or len(self.arguments()) < 2
        if unguarded or argument.type != "Tensor" or len(using) > 1:
            return True
        names, text = using[0]
        if len(names) == 1:
            return needs_grad == names[0]
        wrapped = re.search(rf"wrap_opt_if\({argument.name},(.*?)\)", text)
        if wrapped is None:
            return True
        places = re.findall(r"grad_input_mask\[(\d+)\]", wrapped.group(1))
        return any(names[int(place)] == needs_grad for place in places)


def _uses(formula: str, name: str) -> bool:
    for pattern in _METADATA:
        formula = re.sub(pattern.format(re.escape(name)), "", formula)
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula) is not None


def _logical_lines(block: str) -> list[tuple[int, str, str]]:
    """``(indent, key, value)`` of each key; a quoted value that goes on over lines is joined."""
    found: list[tuple[int, str, str]] = []
    for line in block.split("\n"):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        key = _KEY.match(text)
        open_quote = bool(found) and found[-1][2].startswith('"') and not found[-1][2].endswith('"')
        if key and not open_quote:
            found.append((indent, key.group(1), (key.group(2) or "").strip()))
        elif found:
            found[-1] = (found[-1][0], found[-1][1], f"{found[-1][2]} {text}")
    return found


def _plain(value: str) -> str:
    """A scalar without its quotes, or without the comment behind it."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\']|\'\')*)\'', value)
    if quoted is None:
        return re.sub(r"\s+#.*", "", value)
    double, single = quoted.groups()
    return single.replace("''", "'") if double is None else double.replace('\\"', '"')


def _parse_entry(block: str) -> Formulas | None:
    head, _, rest = block.partition("\n")
    try:
        formulas = Formulas(parse_schema(head.strip()))
    except ValueError:
        return None
    names = {argument.name for argument in formulas.schema.arguments}
    branch = ""
    for indent, key, value in _logical_lines(rest):
        if indent == 4 and not value:
            branch = key
            continue
        if indent == 2:
            branch = ""
        if key == "output_differentiability":
            formulas.differentiable = [item.strip() == "True" for item in value.strip("[]").split(",")]
            continue
        keys = tuple(part.strip() for part in key.split(","))
        if branch not in ("", "Default") or not set(keys) <= names:
            continue
        text = _plain(value)
        if text == "non_differentiable":
            formulas.refused.update(keys)
        elif branch == "Default" and "not_implemented" in text:
            return None  # so torch marks an op that is composite for plain tensors (chunk)
        else:
            formulas.by_arguments[keys] = text
    return formulas


def read_formulas(site_packages: Path) -> Mapping[str, dict[str, Formulas]]:
    """Every derivative of an installed torch, by op name and overload.

    Raises:
        OSError: where that folder holds no torchgen.
    """
    text = (site_packages / DERIVATIVES).read_text(encoding="utf-8")
    return Entries(text.split("\n- name:")[1:], _formulas_of)


def _formulas_of(blocks: list[str]) -> dict[str, Formulas]:
    entries = [entry for block in blocks if (entry := _parse_entry(block)) is not None]
    return {entry.schema.overload: entry for entry in entries}
