"""The reader of a user's torch: schemas, formulas, and rows made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")

from gradsense.machine.ops.derivatives import Derivatives  # noqa: E402
from gradsense.machine.ops.formulas import DERIVATIVES, read_formulas  # noqa: E402
from gradsense.machine.ops.rows import Kind, View  # noqa: E402
from gradsense.machine.ops.schemas import NATIVE_FUNCTIONS, parse_schema, read_schemas, signatures  # noqa: E402
from gradsense.machine.ops.table import table  # noqa: E402

SITE = Path(torch.__file__).parent.parent
READER = Derivatives(SITE)


def test_schema_of_an_overload() -> None:
    schema = parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    assert (schema.name, schema.overload) == ("add", "Tensor")
    assert [argument.kind for argument in schema.arguments] == [Kind.TENSOR, Kind.TENSOR, Kind.NUMBER]
    assert schema.arguments[2].keyword_only and schema.arguments[2].default == "1"


def test_schema_with_aliases_lists_and_named_results() -> None:
    schema = parse_schema("f(Tensor(a -> *) self, SymInt[2] dims=[0, 1], Tensor?[] x) -> (Tensor(a)[] q, Tensor r)")
    assert schema.arguments[0].alias == "a" and not schema.arguments[0].written
    assert [argument.kind for argument in schema.arguments] == [Kind.TENSOR, Kind.NUMBER, Kind.TENSORS]
    assert [(result.name, result.kind) for result in schema.returns] == [("q", Kind.TENSORS), ("r", Kind.TENSOR)]


def test_a_broken_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="not a schema"):
        parse_schema("nonsense")


def test_overloads_share_a_signature_where_positions_agree() -> None:
    add = [
        parse_schema("add.Tensor(Tensor self, Tensor other) -> Tensor"),
        parse_schema("add.Scalar(Tensor self, Scalar other) -> Tensor"),
    ]
    (params,) = signatures(add)
    assert [(param.name, param.kind) for param in params] == [("input", Kind.TENSOR), ("other", Kind.EITHER)]
    top = [
        parse_schema("max(Tensor self) -> Tensor"),
        parse_schema("max.dim(Tensor self, int dim) -> (Tensor, Tensor)"),
    ]
    other = parse_schema("max.other(Tensor self, Tensor other) -> Tensor")
    assert len(signatures([*top, other])) == 2


def test_reader_agrees_with_a_yaml_library() -> None:
    entries = yaml.load((SITE / NATIVE_FUNCTIONS).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    ours = {(schema.name, schema.overload): schema for group in read_schemas(SITE).values() for schema in group}
    compared = 0
    for entry in entries:
        schema = parse_schema(entry["func"])
        read = ours.get((schema.name, schema.overload))
        if read is not None:
            compared += 1
            assert read.arguments == schema.arguments and read.returns == schema.returns
            assert read.module == entry.get("python_module", "")
    assert compared == len(ours) > 1500


def test_formulas_agree_with_a_yaml_library() -> None:
    entries = yaml.load((SITE / DERIVATIVES).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    ours = read_formulas(SITE)
    compared = 0
    for entry in entries:
        schema = parse_schema(entry["name"])
        read = ours.get(schema.name, {}).get(schema.overload)
        if read is None:
            assert schema.name == "chunk"
            continue
        formulas = entry.get("dispatch", {}).get("Default", entry)
        for names, text in read.by_arguments.items():
            expected = formulas[", ".join(names)]
            assert "".join(str(expected).split()) == "".join(text.split()), schema.name
            compared += 1
        arguments = {argument.name for argument in schema.arguments}
        keys = {key for key in formulas if set(key.split(", ")) <= arguments and formulas[key] != "non_differentiable"}
        assert len(keys) == len(read.by_arguments), schema.name
    assert compared > 650


def test_metadata_is_not_saved_and_guards_hold() -> None:
    mul = READER.lookup("mul", ("input", "other"))
    total = READER.lookup("sum", ("input",))
    assert mul is not None and mul.saves["input"].tensors == {"other"} and not mul.sure
    assert total is not None and not total.saves["input"].tensors and not total.saves["input"].second_walk_raises


def test_views_and_inplace_forms() -> None:
    unbind, transpose, reshape = (READER.lookup(name) for name in ("unbind", "transpose", "reshape"))
    assert unbind is not None and unbind.view is View.MULTI and unbind.outputs == 0
    assert transpose is not None and transpose.view is View.VIEW
    assert reshape is not None and reshape.view is View.MAYBE
    sigmoid, log = READER.lookup("Tensor.sigmoid_"), READER.lookup("log")
    assert sigmoid is not None and sigmoid.inplace is not None and sigmoid.inplace["input"].tensors == {"out0"}
    assert log is not None and log.inplace is not None and log.inplace["input"].private
    assert not log.inplace["input"].tensors


def test_composite_ops_may_save_anything() -> None:
    row = READER.lookup("nn.functional.cosine_embedding_loss")
    assert row is not None and not row.sure
    assert row.saves["input1"].maybe >= {"input1", "input2", "target", "out0"}
    assert not row.saves["input1"].second_walk_raises and row.saves["input1"].maybe_raises


def test_values_and_unknown_ops() -> None:
    item = READER.lookup("item")
    assert item is not None and item.result == "value" and item.nondifferentiable
    assert READER.lookup("no_such_op") is None


def test_a_folder_without_torch(tmp_path: Path) -> None:
    reader = Derivatives(tmp_path)
    assert reader.lookup("mul") is None and reader.formulas("mul", "Tensor") is None


def test_damaged_files_do_not_raise(tmp_path: Path) -> None:
    for file, text in (
        (NATIVE_FUNCTIONS, "- func: broken\n- func: f(Tensor self) -> Tensor\n"),
        (DERIVATIVES, "- name: \n  :\n"),
    ):
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_text("#\n" + text)
    row = Derivatives(tmp_path).lookup("f")
    assert row is not None and not row.sure


def _has_formulas(name: str, tensors: list[str], options: dict[str, object]) -> bool:
    row = READER.lookup(name, tensors, options)
    return row is not None and bool(row.saves) and not any(saves.maybe for saves in row.saves.values())


def test_rows_from_formulas_never_name_less_than_was_measured() -> None:
    compared = exact = 0
    for name in table().names():
        measured = table().lookup(name)
        if measured is None or measured.nondifferentiable:
            continue
        tensors = [param.name for param in measured.params if param.kind.value in "tle" and param.required]
        read = READER.lookup(name, tensors)
        if read is None or not _has_formulas(name, tensors, {}):
            continue
        if not set(tensors) <= {param.name for param in read.params}:
            continue  # a Python function whose arguments have names of their own
        shared = set(tensors) | {f"out{place}" for place in range(8)}
        for wrt in set(measured.saves) & set(read.saves):
            if measured.saves[wrt].unsupported:
                continue
            compared += 1
            saved, known = measured.saves[wrt].tensors & shared, read.saves[wrt].tensors & shared
            assert saved <= known, (name, wrt)
            exact += saved == known
    assert compared > 330
    assert exact / compared > 0.9
