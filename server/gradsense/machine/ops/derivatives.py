"""Rows for ops that the table lacks, read from the derivative formulas that the user's own torch ships as data.

A row from here may name more than torch saves, never less, for an op that has formulas of its own (the copying form of
a view has that view's). An op that is written in terms of others has none: its row says that anything may be saved.
Every row is marked ``sure=False``. The arguments have the names of torch's own schemas, which a Python function in
front of an op (``nn.functional.embedding``) may call otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path

from gradsense.machine.ops.formulas import Formulas, read_formulas
from gradsense.machine.ops.rows import Kind, OpRow, Saves, View
from gradsense.machine.ops.schemas import Argument, Schema, read_schemas, signatures

_PREFIXES = {"linalg": "linalg_", "special": "special_", "fft": "fft_", "nn.functional": "", "Tensor": ""}


class Derivatives:
    """The formulas of one installed torch; the files are read when first needed.

    ``site_packages`` is the folder that holds ``torchgen``. Where it holds none, every look-up says None.
    """

    def __init__(self, site_packages: Path) -> None:
        self._root = site_packages

    @cached_property
    def _schemas(self) -> Mapping[str, list[Schema]]:
        try:
            return read_schemas(self._root)
        except OSError:
            return {}

    @cached_property
    def _formulas(self) -> Mapping[str, dict[str, Formulas]]:
        try:
            return read_formulas(self._root)
        except OSError:
            return {}

    def formulas(self, name: str, overload: str = "") -> Formulas | None:
        """The formulas of one schema, such as ``_cudnn_rnn``."""
        return self._formulas.get(name, {}).get(overload)

    def lookup(
        self, name: str, tensors: Collection[str] = (), options: Mapping[str, object] | None = None
    ) -> OpRow | None:
        """The row of an op, or None where this torch has no such op; the arguments are those of ``OpsTable.lookup``."""
        native = _native_name(name)
        schemas = self._schemas.get(native) or self._schemas.get(f"{native}_")
        if not schemas:
            return None
        named = {"self" if item == "input" else item for item in tensors}
        used = named | {"self" if item == "input" else item for item in options or ()}
        return self._row(name, max(schemas, key=lambda schema: _fit(schema, named, used)))

    def _row(self, name: str, schema: Schema) -> OpRow:
        params = signatures([schema])[0]
        returned = [result for result in schema.returns if result.kind in (Kind.TENSOR, Kind.TENSORS)]
        formulas = self.formulas(schema.name, schema.overload)
        if formulas is None and schema.name.endswith("_copy"):
            formulas = self.formulas(schema.name.removesuffix("_copy"), schema.overload)
        outputs = 0 if len(returned) == 1 and returned[0].kind is Kind.TENSORS else len(returned)
        view, view_of = _view(schema, formulas is not None)
        writes = tuple(_public(argument.name) for argument in schema.arguments if argument.written)
        if not returned:
            return OpRow(name, params, outputs=0, nondifferentiable=True, result="value", writes=writes, sure=False)
        if formulas is None and not schema.composite and not schema.name.startswith("_foreach_"):
            return OpRow(name, params, view, view_of, outputs, nondifferentiable=True, writes=writes, sure=False)
        saves = _anything(schema) if formulas is None else _saves(formulas)
        flags = _flags(formulas, max(1, outputs))
        refuses = tuple(_public(item) for item in sorted(formulas.refused)) if formulas is not None else ()
        inplace = self._inplace(schema, formulas)
        return OpRow(
            name, params, view, view_of, outputs, flags, saves, inplace, writes, refuses, not saves, sure=False
        )

    def _inplace(self, schema: Schema, formulas: Formulas | None) -> dict[str, Saves] | None:
        forms = self._schemas.get(f"{schema.name}_", [])
        if not any(form.overload == schema.overload for form in forms):
            return None
        own = self.formulas(f"{schema.name}_", schema.overload) or formulas
        return _anything(schema) if own is None else _written(_saves(own))


@lru_cache(maxsize=1)
def installed() -> Derivatives | None:
    """The formulas of the torch beside this package, which is found and not imported; None where there is none."""
    try:
        found = find_spec("torchgen")
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None:
        return None
    return Derivatives(Path(found.origin).parents[1])


def _native_name(name: str) -> str:
    name = name.removeprefix("torch.")
    for module, prefix in _PREFIXES.items():
        if name.startswith(f"{module}."):
            name = prefix + name.removeprefix(f"{module}.")
            break
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _label(argument: Argument) -> str:
    return f"{_public(argument.name)}[]" if argument.kind is Kind.TENSORS else _public(argument.name)


def _fit(schema: Schema, tensors: set[str], used: set[str]) -> int:
    takes = {argument.name for argument in schema.arguments if argument.kind in (Kind.TENSOR, Kind.TENSORS)}
    names = {argument.name for argument in schema.arguments}
    required = {argument.name for argument in schema.arguments if argument.default is None}
    missing = len(required - used) if used else 0
    return 2 * len(tensors & takes) - 2 * len(tensors - takes) + len(used & names) - missing


def _view(schema: Schema, own: bool) -> tuple[View, str]:
    """A composite op that may alias is one that looks at shapes first (``reshape``, ``to``)."""
    for result in schema.returns:
        for argument in schema.arguments:
            if result.alias is not None and result.alias == argument.alias and not result.written:
                if not own:
                    return View.MAYBE, _public(argument.name)
                return View.MULTI if result.kind is Kind.TENSORS else View.VIEW, _public(argument.name)
    return View.NONE, "input"


def _flags(formulas: Formulas | None, count: int) -> tuple[bool, ...]:
    if formulas is None:
        return (True,) * count
    flags = formulas.differentiable
    if flags is None:
        only_first = any("grad" in text and "grads" not in text for text in formulas.by_arguments.values())
        flags = [place == 0 or not only_first for place in range(count)]
    return tuple([*flags, *[False] * count][:count])


def _saves(formulas: Formulas) -> dict[str, Saves]:
    labels = {argument.name: _label(argument) for argument in formulas.schema.arguments}
    results = formulas.saved_results()
    saves = {}
    for argument in formulas.arguments():
        label = labels[argument]
        if formulas.unsupported(argument):
            saves[label] = Saves(unsupported=True)
            continue
        tensors = results | {labels[name] for name in formulas.saved_arguments(argument)}
        tensors |= {f"{name[:-2]}[=]" for name in tensors if name == label and name.endswith("[]")}
        saves[label] = Saves(frozenset(tensors), second_walk_raises=bool(tensors))
    return saves


def _written(saves: Mapping[str, Saves]) -> dict[str, Saves]:
    """The books of an in-place form: torch saves a clone of the old ``self`` where the formula needs it."""
    return {
        name: Saves(
            item.tensors - {"input"}, "input" in item.tensors, item.second_walk_raises, unsupported=item.unsupported
        )
        for name, item in saves.items()
    }


def _anything(schema: Schema) -> dict[str, Saves]:
    """The books of an op that is written in terms of others: any argument and any result may be saved."""
    tensors = [argument for argument in schema.arguments if argument.kind in (Kind.TENSOR, Kind.TENSORS)]
    names = {_label(argument) for argument in tensors} | {f"out{place}" for place in range(len(schema.returns))}
    names |= {f"{_public(argument.name)}[=]" for argument in tensors if argument.kind is Kind.TENSORS}
    saves = Saves(private=True, maybe=frozenset(names), maybe_raises=True)
    return {_label(argument): saves for argument in tensors}
